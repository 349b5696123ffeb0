import type { ClientRequest } from "node:http";
import { ApiError } from "../api-error.js";
import type { ApiRequest } from "./api-client.js";

/** Sends a request. With `beforeSend`, sends it once the connection is open, because a connection may take long. */
export function sendWhenConnected(
  outgoing: ClientRequest,
  { body, beforeSend, method = "GET", path }: ApiRequest,
): void {
  if (beforeSend === undefined) {
    outgoing.end(body);
    return;
  }
  const send = (): void => {
    if (outgoing.destroyed) return;
    try {
      beforeSend();
    } catch (cause) {
      outgoing.destroy(
        cause instanceof ApiError ? cause : new ApiError("aborted", `${method} ${path}: not sent`, { cause }),
      );
      return;
    }
    outgoing.end(body);
  };
  outgoing.once("socket", (socket) => {
    if (outgoing.reusedSocket) send();
    else if (outgoing.protocol === "https:") socket.once("secureConnect", send);
    else if (socket.connecting) socket.once("connect", send);
    else send();
  });
}
