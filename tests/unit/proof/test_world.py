"""What must not be in an operator's log is found there."""

from pathlib import Path

from proof.world import complaints

LOG = """\
2026-12-01T09:40:36.358+00:00 INFO imagerefresh.reconcile [t/web] Recorded: web
2026-12-01T09:40:36.358+00:00 ERROR kopf.objects Daemon 'keeper' failed
Traceback (most recent call last):
  File "keep.py", line 1, in keep
    raise KeyError("web")
KeyError: 'web'
2026-12-01T09:40:37.000+00:00 WARNING imagerefresh.reconcile [t/web] an ERRORless line
"""


def test_errors_and_whole_tracebacks(tmp_path: Path) -> None:
    log = tmp_path / "operator.log"
    log.write_text(LOG)
    assert complaints(log) == [LOG.splitlines()[1], "\n".join(LOG.splitlines()[2:6])]


def test_warnings_are_none(tmp_path: Path) -> None:
    log = tmp_path / "operator.log"
    log.write_text(LOG.splitlines()[0] + "\n" + LOG.splitlines()[-1])
    assert complaints(log) == []
