import type { Server } from "node:http";
import type { ListenAddress } from "./flags.js";

/** On all addresses where none is named. */
export function listenOptions({ host, port }: ListenAddress): { host: string; port: number } {
  return { host: host ?? "::", port };
}

/** Says in a sentence which flag's address cannot be listened on. */
export async function listening<T>(flag: string, server: Promise<T>): Promise<T> {
  try {
    return await server;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE") throw new Error(`--${flag}: the port is taken by another process; give another one`, { cause: error });
    if (code === "EACCES" || code === "EADDRNOTAVAIL") throw new Error(`--${flag}: cannot listen there: ${(error as Error).message}`, { cause: error });
    throw error;
  }
}

/** Ends a server with its connections. */
export function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
