import { createAdminServer, crossSiteReason, mayChangeState } from "@istiod/admin-server";

let restarts = 0;

const server = createAdminServer((request, response) => {
  const reason = crossSiteReason(request);
  if (reason !== undefined) response.writeHead(403).end(`${reason}\n`);
  else if (request.url === "/restart" && !mayChangeState(request)) response.writeHead(405, { allow: "POST" }).end();
  else response.writeHead(200).end(`${request.url === "/restart" ? ++restarts : restarts}\n`);
});
server.listen(0, "127.0.0.1");
server.unref();
