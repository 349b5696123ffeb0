import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { createApiClient, inClusterAccess } from "@istiod/kubernetes";

// The image signer: a certificate authority outside of istiod, as cert-manager's istio-csr is one. openssl signs with
// ca.crt and ca.key of the directory that is given; tls.crt and tls.key are those of the server.

const PORT = 6443;
/** Audience of the tokens that agents send. */
const AUDIENCE = "istio-ca";

const [directory = "."] = process.argv.slice(2);
const file = (name: string): string => join(directory, name);
const api = createApiClient(inClusterAccess(), { userAgent: "signer" });

interface Review {
  readonly status: { readonly authenticated?: boolean; readonly user?: { readonly username: string } };
}

/** Returns the SPIFFE identity of the service account that a token belongs to. */
async function identityOf(authorization: string | null): Promise<string> {
  const token = /^Bearer (.+)$/.exec(authorization ?? "")?.[1] ?? "";
  const review = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, audiences: [AUDIENCE] },
  };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const { status } = await api.json<Review>({ method: "POST", path, body: JSON.stringify(review) });
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(status.user?.username ?? "") ?? [];
  if (status.authenticated !== true || namespace === undefined || account === undefined)
    throw new ConnectError("the token is not one of a service account", Code.Unauthenticated);
  return `spiffe://cluster.local/ns/${namespace}/sa/${account}`;
}

/** Returns a certificate for the key of a request, and only for the identity. */
async function sign(request: string, identity: string): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), "signer-"));
  const path = (name: string): string => join(scratch, name);
  try {
    await writeFile(path("csr"), request);
    const usages = "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth";
    await writeFile(path("extensions"), `subjectAltName=critical,URI:${identity}\n${usages}\n`);
    await promisify(execFile)("openssl", [
      ...["x509", "-req", "-days", "1", "-in", path("csr"), "-extfile", path("extensions"), "-out", path("crt")],
      ...["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-CAserial", path("serial"), "-CAcreateserial"],
    ]);
    return await readFile(path("crt"), "utf8");
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const handler = connectNodeAdapter({
  routes: (router) =>
    router.service(IstioCertificateService, {
      createCertificate: async ({ csr }, { requestHeader }) => {
        const identity = await identityOf(requestHeader.get("authorization"));
        const certificate = await sign(csr, identity);
        process.stdout.write(`signed ${identity}\n`);
        return { certChain: [certificate, await readFile(file("ca.crt"), "utf8")] };
      },
    }),
});
const server = createSecureServer({ key: await readFile(file("tls.key")), cert: await readFile(file("tls.crt")) });
server.on("request", handler).listen(PORT, () => process.stdout.write(`listening on ${PORT}\n`));
process.once("SIGTERM", () => process.exit());
