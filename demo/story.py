"""The whole story of the product on a real control plane, shown through kubectl.

The exit status says whether it held. On a terminal everything then stays up, to be played with.
"""

import shutil
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from chapters import CHAPTERS, Cast
from narrator import Narrator, StoryBrokenError
from stage import LOG, NAME, Stage, stage
from testbed.build import BuildError, tools
from testbed.controlplane import CommandError
from testbed.process import ProcessError

_LOG_TAIL = 40  # lines


def main() -> int:
    """Tell the story; 0 if it held."""
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell had SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="imagerefresh-demo-"))
    try:
        _tell(folder, Narrator())
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        return 130
    except (StoryBrokenError, BuildError, CommandError, ProcessError, OSError) as error:
        sys.stdout.flush()
        sys.stderr.write(f"\nThe story did not hold: {error}\nLogs are in {folder}\n")
        log = folder / LOG
        if log.exists():
            lines = log.read_text(errors="replace").splitlines()[-_LOG_TAIL:]
            sys.stderr.write("\n".join((f"The end of {log}:", *lines, "")))
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _tell(folder: Path, narrator: Narrator) -> None:
    with stage(folder, narrator) as the_stage:
        cast = Cast(the_stage, narrator)
        try:
            for chapter in CHAPTERS:
                chapter(cast)
            narrator.end()
            if sys.stdin.isatty():
                _stay(the_stage, narrator)
        except StoryBrokenError:
            for command in ("get irp --output=yaml", "get pods,replicasets"):
                cast.show(command)
            raise
        finally:
            cast.close()


def _stay(the_stage: Stage, narrator: Narrator) -> None:
    publish = f"PYTHONPATH=tests {sys.executable} -m testbed publish"
    first, second = the_stage.first.address, the_stage.second.address
    narrator.say("Everything stays up until Ctrl-C. In another terminal, in this folder:")
    sys.stdout.write(f"""
    export KUBECONFIG={the_stage.control_plane.kubeconfig}
    alias kubectl={tools()["kubectl"]}

    kubectl get irp --watch
    kubectl describe irp {NAME}
    kubectl explain irp.spec

    {publish} {first}/example/{NAME}:prod
    {publish} {first}/example/{NAME}:prod --bad
    {publish} {second}/example/ingestor:0.3

    kubectl annotate irp {NAME} --overwrite imagerefresh.dev/requested-at="$(date)" # look now
    kubectl annotate irp {NAME} --overwrite imagerefresh.dev/retry-at="$(date)" # try again
    kubectl patch irp {NAME} --type=merge --patch='{{"spec": {{"suspend": true}}}}'

    The operator's log: {the_stage.folder / LOG}
""")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
