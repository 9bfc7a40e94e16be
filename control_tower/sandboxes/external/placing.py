"""Where a path of the agent's is in a sandbox that is not ours."""

from __future__ import annotations

import posixpath


def placed(path: str | None, *, workspace: str, stands_in: bool) -> str:
    """The path to give to the provider.

    Args:
        path: as the agent, a scorer or a script wrote it; None is the workspace.
        workspace: absolute path; relative paths begin there.
        stands_in: whether the sandbox's own folder stands in for the workspace; then what is in the
            workspace is given as a relative path, which providers take to begin in that folder.
    """
    whole = posixpath.normpath(posixpath.join(workspace, path or ""))
    if not stands_in:
        return whole
    if whole == workspace:
        return "."
    return whole.removeprefix(f"{workspace}/")
