"""`ct live`: a sandbox to work in by hand, which a process of its own keeps up.

    $CT_STATE_DIR/live/
      current                    the name of the session that commands are about
      NAME/
        session.json             what it is a sandbox of, how to reach its process, how it is
        steps.jsonl              what was done in it, a line a step
        lock                     held, with flock, for as long as its process lives
        server.log               what that process printed

The process runs one Inspect sample whose solver serves requests until the session is taken down.
"""
