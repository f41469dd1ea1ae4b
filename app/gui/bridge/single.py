"""One window for one workspace: a second start raises the first.

A local socket named after user and workspace: who can connect to it is second and says "raise";
who cannot listens. A stale socket of a crashed window is removed only after connecting failed.
"""

from __future__ import annotations

import getpass
import hashlib

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

WAIT = 500  # ms
RAISE = b"raise\n"


def name_for(workspace: str) -> str:
    """The socket's name: safe on every system, different for each user and workspace."""
    digest = hashlib.sha256(f"{getpass.getuser()}\n{workspace}".encode()).hexdigest()
    return f"palimpsest-{digest[:16]}"


def raise_other(workspace: str) -> bool:
    """Ask a window that shows this workspace to come to the front; False when there is none."""
    socket = QLocalSocket()
    socket.connectToServer(name_for(workspace))
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
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        name = name_for(workspace)
        if not self._server.listen(name):
            QLocalServer.removeServer(name)  # left by a window that crashed
            self._server.listen(name)

    def close(self) -> None:
        self._server.close()

    def _on_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.disconnected.connect(socket.deleteLater)
            self.rang.emit()
