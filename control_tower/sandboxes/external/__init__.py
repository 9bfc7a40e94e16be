"""Sandboxes that are Inspect's, or a user's own: any provider that is registered with Inspect.

Module by module: `types` finds what `--sandbox` names, `arguments` makes its configuration of
`--sandbox-arg`, `chosen` is the choice, `config` what one sample is made from, `placing` where a
path is, and `provider` what Inspect sees: theirs, with our defaults for folder and user.
"""
