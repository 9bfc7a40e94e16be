"""The `docker` sandbox: a sample in containers of its own, by the Engine API.

From an environment to what samples are made from: `compose` reads its compose file, `unfit` says
what it must not have, `images` builds, `reach` and `host_guard` shape its networks, `seccomp` makes
room for isolation, `adapting` does the rest, `blueprint` and `container_body` translate it for the
engine, and `unsupported` says what they leave out; `environment` puts this together.

From there to a sample: `startup` tries, and tries again where `failing` says that it can help;
`assembly` makes, `coming_up` waits, `removing` removes, and `by_compose` does the same through
compose. `provider` is what Inspect sees; `calls`, `attaching` and `commands` talk to the engine.

`preflight` is what must be there before a run; `marker`, `leftovers` and `ownerless` deal with what
a killed run left. `host_rules` makes rules on the engine's host, and `withheld` looks at it, by
`errand`s.
"""
