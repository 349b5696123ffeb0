/** State of a control plane at one moment, as plain data. All times are milliseconds since the epoch. */
export interface StatusModel {
  /** When the rest was true. */
  readonly at: number;
  readonly instance: Instance;
  readonly sources: readonly SourceStatus[];
  readonly proxies: readonly ProxyStatus[];
  /** Newest first. */
  readonly changes: readonly ChangeStatus[];
  readonly problems: readonly ProblemStatus[];
  /** Absent: nothing analyzes the objects. */
  readonly findings?: readonly Finding[];
  readonly certificates: readonly CertificateStatus[];
  readonly objects: readonly KindCount[];
  /** Pages of the control plane itself. */
  readonly pages: readonly Link[];
  readonly documentation: readonly Link[];
  /** Where the rest of a list is that is shown in part. Default: this page as JSON. */
  readonly more?: { readonly [list in "proxies" | "changes"]?: string };
}

/** The process that answers. */
export interface Instance {
  /** Such as the name of its pod. */
  readonly name: string;
  readonly version: string;
  readonly revision: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly startedAt: number;
  /** Revision of its configuration. */
  readonly configRevision: number;
  /** What it waits for before it is ready; empty: it is ready. */
  readonly waitingFor: readonly string[];
}

/** A place that configuration is read from. */
export interface SourceStatus {
  readonly name: string;
  /** A directory, a file or a server. */
  readonly location: string;
  /**
   * `reading`: it changed and is being read; `stale`: some of it cannot be read, and its last good state stays active.
   */
  readonly state: "current" | "reading" | "stale";
  /** What cannot be read, and why. */
  readonly reasons: readonly string[];
}

export interface ProxyStatus {
  readonly id: string;
  /** For a pod `name.namespace`. */
  readonly name: string;
  readonly kind: string;
  readonly version: string;
  readonly connectedAt: number;
  /** A change is still to be sent to it. */
  readonly pushPending: boolean;
  readonly types: readonly TypeStatus[];
  /** Configuration that it was sent. */
  readonly href?: string;
}

/** Subscription of a proxy to one xDS type. */
export interface TypeStatus {
  /** Short name, such as `CDS`. */
  readonly type: string;
  /** `stale`: the last response is not acknowledged; `rejected`: the proxy rejected it (NACK). */
  readonly state: "synced" | "stale" | "not sent" | "rejected";
  /** When the last response was sent. */
  readonly sentAt?: number;
  readonly rejection?: Rejection;
}

/** NACK of a proxy. */
export interface Rejection {
  /** The proxy's own words. */
  readonly reason: string;
  /** Resources that the reason names. */
  readonly resources: readonly string[];
  /** Objects whose change led to the rejected response. */
  readonly causes: readonly string[];
  readonly at: number;
}

/** Objects that changed together, and what became of it. */
export interface ChangeStatus {
  readonly revision: number;
  readonly at: number;
  /** Of large changes the first ones. */
  readonly objects: readonly string[];
  readonly objectCount: number;
  /** Proxies that were sent something because of it. */
  readonly proxies: number;
  /** Of those, the proxies that acknowledged all of it. */
  readonly proxiesAcknowledged: number;
  /** Responses that proxies rejected. */
  readonly rejections: number;
  /** Responses that are not answered. */
  readonly pending: number;
  /** Milliseconds from the change to the last acknowledgement. */
  readonly lastAckMs?: number;
  readonly href?: string;
}

/** Fault in a document of a source. */
export interface ProblemStatus {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** From 1; 0: the file as a whole. */
  readonly line: number;
  /** `Kind namespace/name`; empty where it is not known. */
  readonly object: string;
  /** Path of the field; empty: the document as a whole. */
  readonly field: string;
  readonly message: string;
}

/** Message of an analyzer about objects that are accepted. */
export interface Finding {
  readonly code: string;
  readonly level: "Error" | "Warning" | "Info";
  /** The object. */
  readonly origin: string;
  /** Where it is defined. */
  readonly reference: string;
  readonly message: string;
}

export interface CertificateStatus {
  /** Such as `Root` or `Serving certificate`. */
  readonly role: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
  /** When the control plane should have renewed it by itself; absent: an operator renews it. */
  readonly renewalDue?: number;
}

export interface KindCount {
  readonly kind: string;
  readonly group: string;
  readonly count: number;
}

export interface Link {
  readonly href: string;
  readonly label: string;
  readonly about: string;
}
