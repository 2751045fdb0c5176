"""The plugin as TensorBoard sees it: a name, a front end, and routes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorboard.plugins import base_plugin
from werkzeug.wrappers import Request, Response

from msprobe.tensorboard import assets, naming, replies
from msprobe.tensorboard.jobs import Jobs
from msprobe.tensorboard.origin import Gate, RefusedError, check_same_origin

logger = logging.getLogger(__name__)

Handler = Callable[[Request], Response]


class GraphPlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Shows `*.vis.db` files below the log directory."""

    plugin_name = naming.choose()

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        self._gate = Gate()
        self._assets = assets.load()
        self._logdir = Path(context.logdir).expanduser().absolute() if getattr(context, "logdir", None) else None
        self._jobs = Jobs(self._logdir) if self._logdir else None
        self._viewer: Any = None
        try:
            from msprobe import _native

            self._viewer = _native.Viewer(self._logdir) if self._logdir else None
        except ImportError as error:
            # A broken installation must not take TensorBoard with it.
            logger.warning("the msprobe-rs tab stays empty: %s", error)
            text = f"The compiled part of msprobe-rs cannot be loaded:\n\n    {error}\n\nRun `msprobe-rs doctor` for details."
            self._assets = {"index.js": assets.message("msprobe-rs is not installed completely", text)}

    def is_active(self) -> bool:
        """Always: without a file the tab says what to do, and can make one."""
        return True

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """The module TensorBoard loads into an iframe."""
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name=self.plugin_name.upper(), disable_reload=True)

    def get_plugin_apps(self) -> dict[str, Callable[..., Any]]:
        """Routes below `/data/plugin/<name>`."""
        routes: dict[str, Handler] = {f"/{name}": self._static for name in self._assets}
        routes["/api/session"] = self._session
        routes["/api/jobs"] = self._job_list
        routes["/api/job"] = self._job_facts
        routes["/api/job/start"] = self._job_start
        routes["/api/job/cancel"] = self._job_cancel
        routes["/api/edit"] = self._edit
        routes["/api/matches"] = self._matches
        routes["/api/*"] = self._question
        return {route: _application(handler) for route, handler in routes.items()}

    def _static(self, request: Request) -> Response:
        name = request.path.split(f"/plugin/{self.plugin_name}/", 1)[-1]
        asset = self._assets.get(name)
        if asset is None:
            return replies.failure(request, 404, "route", "no such file")
        return replies.reply(request, asset.body, asset.content_type, immutable=asset.immutable, compressed=asset.compressed)

    def _session(self, request: Request) -> Response:
        """What a page needs to be allowed to write. A POST, because only then every browser names the page's origin."""
        if request.method != "POST":
            raise RefusedError(405, "method", "use POST")
        check_same_origin(request)
        facts = {"token": self._gate.token, "view_only": self._gate.view_only, "logdir": str(self._logdir or "")}
        return replies.answer(request, facts)

    def _job_list(self, request: Request) -> Response:
        return replies.answer(request, {"jobs": self._all_jobs().all()})

    def _job_facts(self, request: Request) -> Response:
        return replies.answer(request, self._all_jobs().facts(request.args.get("id", "")))

    def _job_start(self, request: Request) -> Response:
        return replies.answer(request, self._all_jobs().start(self._gate.admit(request)))

    def _job_cancel(self, request: Request) -> Response:
        return replies.answer(request, self._all_jobs().cancel(str(self._gate.admit(request).get("id"))))

    def _edit(self, request: Request) -> Response:
        """Changes matches: `{"path", "step", "rank", "action"}`, see `msprobe_core::edit`."""
        body = self._gate.admit(request)
        path = str(body.pop("path", ""))
        status, answer = self._core().edit(path, json.dumps(body))
        return replies.reply(request, answer, "application/json", status=status)

    def _matches(self, request: Request) -> Response:
        step, rank = (_number(request, name) for name in ("step", "rank"))
        status, answer = self._core().matches(request.args.get("path", ""), step, rank)
        return replies.reply(request, answer, "application/json", status=status)

    def _core(self) -> Any:
        if self._viewer is None:
            raise RefusedError(404, "no_logdir", "TensorBoard was started without a log directory (--logdir)")
        return self._viewer

    def _all_jobs(self) -> Jobs:
        if self._jobs is None:
            raise RefusedError(404, "no_logdir", "TensorBoard was started without a log directory (--logdir)")
        return self._jobs

    def _question(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise RefusedError(405, "method", "use GET")
        route = request.path.rsplit("/api/", 1)[-1]
        status, body = self._core().answer(route, list(request.args.items(multi=True)))
        return replies.reply(request, body, "application/json", status=status)


def _number(request: Request, name: str) -> int:
    """A whole number of the query that the core can take."""
    text = request.args.get(name, "0")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise RefusedError(400, "parameter", f"{name}: is no whole number")
    return int(text)


def _application(handler: Handler) -> Callable[..., Any]:
    """`handler` as a WSGI application; refusals and surprises become JSON errors."""

    @Request.application
    def application(request: Request) -> Response:
        try:
            return handler(request)
        except RefusedError as refusal:
            return replies.failure(request, refusal.status, refusal.code, refusal.message)
        except Exception:
            logger.exception("%s %s", request.method, request.path)
            return replies.failure(request, 500, "internal", "the server failed; its log has the reason")

    return application
