"""Several policies on several targets, in JSON, with the real operator running them: for histories
that are too long, and have too many parts, to be searched exhaustively.
"""
