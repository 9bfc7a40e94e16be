"""The `bwrap` sandbox: a sample in Linux namespaces of its own, without a container engine.

One holder process a sample keeps the namespaces; every command enters them with `nsenter`.
Module by module: `config` what an environment asks for, `host` what this machine offers, `state`
the directories on disk, `namespaces` what a sandbox sees, `holder` its life, `entering` and
`running` one command, `processes` finding and killing, `preflight` and `leftovers` before a run,
and `provider` what Inspect sees.
"""
