import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/**
 * Serves HTTP until SIGTERM, and prints a line once it listens.
 *
 * @param name of the program, for that line
 */
export function serve(
  name: string,
  port: number,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  // Envoy keeps its connections to the application. One that ends when it is idle fails the request of that moment.
  server.keepAliveTimeout = 0;
  server.listen(port, () => process.stdout.write(`${name} listens on ${port}\n`));
  process.once("SIGTERM", () => {
    server.close();
    server.closeIdleConnections();
  });
}
