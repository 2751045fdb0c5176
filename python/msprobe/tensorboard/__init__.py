"""TensorBoard plugin: a thin server over `msprobe._native`, and the built front end under `static/`.

Nothing here computes: questions go to the core, jobs run out of process. TensorBoard finds `plugin.GraphPlugin` through the
entry point group `tensorboard_plugins`.
"""
