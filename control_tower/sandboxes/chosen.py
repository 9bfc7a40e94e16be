"""What a run does with the sandbox that was chosen, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.settings import OF_DOCKER, SandboxSettings

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironmentSpec

Flags = Callable[[str], str]
"""How the user spells the option of a key, such as `--sandbox` or `--ct-sandbox`."""


@dataclass(frozen=True)
class Provision:
    """What the samples of an environment run in."""

    spec: SandboxEnvironmentSpec | None
    """None: there is none."""
    problem: str | None = None
    """Why none of them can start, if that is known; each ends at its start with these words."""


@dataclass(frozen=True)
class SandboxChoice(ABC):
    """A sandbox by name, with what is asked of it."""

    name: str
    explicit: bool
    """Whether the user chose it; otherwise it is the default."""
    settings: SandboxSettings
    flags: Flags

    @property
    def is_there(self) -> bool:
        """Whether there is a sandbox at all."""
        return True

    @property
    def provides(self) -> str:
        """What `provide` does that takes time; empty if it takes none."""
        return ""

    @property
    def copies_source(self) -> bool:
        """Whether a sample's set-up must bring the environment's code base into the workspace."""
        return False

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked of it beside its name, as JSON has it: for a record of the run."""
        return {key: True for key in OF_DOCKER if key in self.settings.given - {"startup_retries"}}

    @property
    def described(self) -> str:
        """Its name, whether it is the default, and the options that shape it."""
        shaping = self.settings.given - {"startup_retries"}
        flags = [self.flags(key) for key in OF_DOCKER if key in shaping]
        return " ".join([self.name, *([] if self.explicit else ["(default)"]), *flags])

    @abstractmethod
    def refuse_unfit(self, environment: Environment) -> None:
        """Refuse an environment that this sandbox cannot hold; touches no engine.

        Raises:
            UsageProblem: in one line.
        """

    def preflight(self, environments: Iterable[Environment], *, samples_at_once: int) -> None:
        """Make sure this machine can run the sandbox, and remove what killed runs left.

        Raises:
            UsageProblem: in one line that says what is missing and the way out.
        """
        try:
            self._preflight(list(environments), samples_at_once)
        except SandboxRefused as refusal:
            raise UsageProblem(self._refusal(refusal)) from None
        except OSError as error:
            raise UsageProblem(
                f"{self._chosen_by}: cannot use the state directory: {error}"
            ) from None

    @abstractmethod
    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """The sandbox of each environment's samples, by environment id.

        What takes long is done here, once for all samples; where it fails for one environment, that
        one's samples fail when they start, and nothing else.

        Args:
            environments: whose samples are to run.
            stopped: whether the run is stopped meanwhile; then it returns as soon as it can.

        Raises:
            SandboxRefused: the state directory or a compose file cannot be used.
        """

    @abstractmethod
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        """As `preflight`.

        Raises:
            SandboxRefused: what is missing, without the name of this sandbox.
            OSError: the state directory cannot be used.
        """

    def _refusal(self, reason: SandboxRefused) -> str:
        return f"{self._chosen_by}: {reason}"

    @property
    def _chosen_by(self) -> str:
        """What chose it: the flag and the name."""
        return f"{self.flags('sandbox')} {self.name}"

    def _refuse_options_of_docker(self) -> None:
        """Refuse what only our Docker sandbox honours.

        Raises:
            UsageProblem: an option of those is set; it names both flags.
        """
        given = [self.flags(key) for key in OF_DOCKER if key in self.settings.given]
        if given:
            named = " and ".join(given)
            raise UsageProblem(
                f"{named} cannot go with {self._chosen_by}: only the docker sandbox honours "
                f"{'them' if len(given) > 1 else 'it'}; leave out {named}, or {self._chosen_by}"
            )

    def _refuse_arguments(self) -> None:
        """Refuse arguments, where the sandbox takes none.

        Raises:
            UsageProblem: there are some; it names both flags.
        """
        if not self.settings.args:
            return
        chosen = self._chosen_by if self.explicit else f"{self.name}, the default sandbox"
        raise UsageProblem(
            f"{self.flags('sandbox_arg')} cannot go with {chosen}, which takes no arguments; name "
            f"the sandbox that they are for with {self.flags('sandbox')}"
        )
