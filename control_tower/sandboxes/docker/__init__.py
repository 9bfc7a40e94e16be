"""The `docker` sandbox: a sample in containers of its own, on top of Inspect's Docker provider.

Module by module: `config` what a sample's containers are made from, `engine` the connection and
what it offers, `preflight` what must be there before a run, `compose` an environment's compose
file as we run it, `unfit` what it must not have, `images` building them once, `marker` and
`leftovers` what a killed run left, and `provider` what Inspect sees.
"""
