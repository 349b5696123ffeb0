import { CertificateAuthority, issueServingCertificate, createSelfSignedRoot, selfSignedBundle } from "@istiod/ca";

export interface TestCertificates {
  /** PEM. */
  readonly root: string;
  readonly server: { readonly key: string; readonly cert: string };
}

/** Issues a certificate for a DNS name from a new root. */
export async function certificateFor(name: string): Promise<TestCertificates> {
  const root = await createSelfSignedRoot(
    { organization: "outside", key: { type: "ecdsa", curve: "P-256" } },
    Date.now(),
  );
  const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
  const { key, cert } = await issueServingCertificate(authority, [name], 3_600_000, Date.now());
  return { root: root.certificate, server: { key, cert } };
}
