import type { AssessedCertificate } from "../certificate-state.js";
import { html, type Html } from "../html.js";
import { mark, section, short, table } from "../table.js";
import { dayOf, isoTime, relativeTime } from "../time.js";

/** Renders the certificates with their expiry. */
export function certificatesSection(certificates: readonly AssessedCertificate[], at: number): Html {
  if (certificates.length === 0)
    return section(
      "certificates",
      "Certificates",
      undefined,
      html`<p class="empty">None: this istiod signs no certificates and serves no TLS.</p>\n`,
    );
  const columns = [
    { label: "Certificate", cell: ({ role }: AssessedCertificate) => short(role) },
    { label: "Subject", cell: ({ subject }: AssessedCertificate) => html`<span class="name">${subject}</span>` },
    {
      label: "State",
      cell: ({ isLate, verdict }: AssessedCertificate) => mark(isLate ? "error" : "ok", short(verdict)),
    },
    {
      label: "Expires",
      cell: ({ notAfter }: AssessedCertificate) =>
        html`<time datetime="${isoTime(notAfter)}" title="${isoTime(notAfter)}">${short(dayOf(notAfter))}</time>`,
    },
    {
      label: "Renewal",
      cell: ({ renewalDue }: AssessedCertificate) =>
        renewalDue === undefined ? "by an operator" : html`by istiod, due ${relativeTime(renewalDue, at)}`,
    },
  ];
  return section(
    "certificates",
    "Certificates",
    undefined,
    table({
      caption: "Certificates, those that expire first come first",
      columns,
      rows: certificates,
      isTrouble: ({ isLate }) => isLate,
    }),
  );
}
