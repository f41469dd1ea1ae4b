"""One window for one workspace: a second start raises the first.

A local socket named after user and workspace: who can connect to it is second and says "raise";
who cannot listens. A stale socket of a crashed window is removed only after connecting failed.
Qt's network library is imported by whoever listens or has somebody to call: not by the first paint.
"""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject, Signal

WAIT = 500  # ms
RAISE = b"raise\n"


def name_for(workspace: str) -> str:
    """The socket's name: safe on every system, different for each user and workspace."""
    import getpass
    import hashlib

    digest = hashlib.sha256(f"{getpass.getuser()}\n{workspace}".encode()).hexdigest()
    return f"palimpsest-{digest[:16]}"


def raise_other(workspace: str) -> bool:
    """Ask a window that shows this workspace to come to the front; False when there is none."""
    from PySide6.QtCore import QDir

    name = name_for(workspace)
    if os.name == "posix" and not (Path(QDir.tempPath()) / name).exists():
        return False  # where Qt keeps local sockets on such systems
    from PySide6.QtNetwork import QLocalSocket

    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(WAIT):
        return False
    socket.write(RAISE)
    socket.waitForBytesWritten(WAIT)
    socket.disconnectFromServer()
    return True


class Doorbell(QObject):
    """Listens for second starts; `rang` asks the window to come to the front."""

    rang = Signal()

    def __init__(self, workspace: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        from PySide6.QtNetwork import QLocalServer

        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        self.second = False  # somebody else answers for this workspace
        name = name_for(workspace)
        if not self._server.listen(name):
            self.second = raise_other(workspace)
            if not self.second:
                QLocalServer.removeServer(name)  # left by a window that crashed
                self._server.listen(name)

    def close(self) -> None:
        self._server.close()

    def _on_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.disconnected.connect(socket.deleteLater)
            self.rang.emit()
