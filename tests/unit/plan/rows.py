"""One image, one look, one step: what is to come of it. At least one example for each row of the
decision table, and its near misses. The rules that the examples stand for are in their names.
"""

from typing import Final

from unit.plan.examples import Example
from unit.plan.rows_asking import ASKING
from unit.plan.rows_at_rest import AT_REST
from unit.plan.rows_judging import JUDGING

EXAMPLES: Final[tuple[Example, ...]] = (*AT_REST, *ASKING, *JUDGING)
