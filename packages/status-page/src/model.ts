/** The state of a control plane at one moment, as plain data. All times are milliseconds since the epoch. */
export interface StatusModel {
  /** Time of the state. */
  readonly at: number;
  readonly instance: Instance;
  /** The replicas of the control plane, of which `proxies` has all proxies. Absent: only this instance is known. */
  readonly replicas?: readonly ReplicaStatus[];
  readonly sources: readonly SourceStatus[];
  readonly proxies: readonly ProxyStatus[];
  /** Newest first. */
  readonly changes: readonly ChangeStatus[];
  readonly problems: readonly ProblemStatus[];
  /** Absent if no analysis runs. */
  readonly findings?: readonly Finding[];
  readonly certificates: readonly CertificateStatus[];
  readonly objects: readonly KindCount[];
  /** Pages of the control plane itself. */
  readonly pages: readonly Link[];
  readonly documentation: readonly Link[];
  /** URL of the complete lists, for lists that are truncated. Default: this page as JSON. */
  readonly more?: { readonly [list in "proxies" | "changes"]?: string };
}

/** The istiod process that serves the page. */
export interface Instance {
  /** Name of the instance, such as its pod name. */
  readonly name: string;
  readonly version: string;
  readonly revision: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly startedAt: number;
  /** Revision of its configuration. */
  readonly configRevision: number;
  /** Conditions that readiness waits for; empty if ready. */
  readonly waitingFor: readonly string[];
}

/** A replica of the control plane. */
export type ReplicaStatus =
  | {
      readonly name: string;
      readonly state: "ready" | "starting";
      readonly version: string;
      readonly startedAt: number;
      /** Number of connected proxies. */
      readonly proxies: number;
      /** True for the instance that serves the page. */
      readonly isSelf: boolean;
    }
  | { readonly name: string; readonly state: "no answer"; readonly reason: string; readonly isSelf: false };

/** A configuration source. */
export interface SourceStatus {
  readonly name: string;
  /** A directory, a file or a server. */
  readonly location: string;
  /**
   * `reading`: changes are being read. `stale`: some of the source cannot be read, and its last good state stays
   * active.
   */
  readonly state: "current" | "reading" | "stale";
  /** Descriptions of the read errors. */
  readonly reasons: readonly string[];
}

export interface ProxyStatus {
  readonly id: string;
  /** Name; `name.namespace` for a pod. */
  readonly name: string;
  readonly kind: string;
  readonly version: string;
  readonly connectedAt: number;
  /** Name of the replica that the proxy is connected to. Absent if the model has no replicas. */
  readonly replica?: string;
  /** True if a change has not been sent to the proxy yet. */
  readonly pushPending: boolean;
  readonly types: readonly TypeStatus[];
  /** Reason why clients of its kind are not served. Absent: it is served. */
  readonly unsupported?: string;
  /** Page of its configuration. */
  readonly href?: string;
}

/** Subscription of a proxy to one xDS type. */
export interface TypeStatus {
  /** Short name, such as `CDS`. */
  readonly type: string;
  /**
   * `rejected`: the proxy rejects at least one resource. `stale`: a response is not acknowledged, or resources of a
   * rejected response are being sent again.
   */
  readonly state: "synced" | "stale" | "not sent" | "rejected";
  /** Time when the last response was sent. */
  readonly sentAt?: number;
  readonly rejection?: Rejection;
}

/** The resources that a proxy rejects. */
export interface Rejection {
  /** The proxy's reason for the first of them. */
  readonly reason: string;
  /** Names of the rejected resources. */
  readonly resources: readonly string[];
  /** Objects whose changes the rejected response shows. */
  readonly causes: readonly string[];
  readonly at: number;
}

/** A change of one or more objects, and its outcome. */
export interface ChangeStatus {
  readonly revision: number;
  readonly at: number;
  /** The first objects of large changes. */
  readonly objects: readonly string[];
  readonly objectCount: number;
  /** Number of proxies with a response that shows the change. */
  readonly proxies: number;
  /** Number of those proxies that acknowledged all such responses. */
  readonly proxiesAcknowledged: number;
  /** Number of NACKs. */
  readonly rejections: number;
  /** Number of unanswered responses. */
  readonly pending: number;
  /** Milliseconds from the change until the last ACK. */
  readonly lastAckMs?: number;
  readonly href?: string;
}

/** A problem in a document of a source. */
export interface ProblemStatus {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** Line from 1; 0 for the file as a whole. */
  readonly line: number;
  /** `Kind namespace/name`; empty if unknown. */
  readonly object: string;
  /** Path of the field; empty for the document as a whole. */
  readonly field: string;
  readonly message: string;
}

/** An analysis message about an accepted object. */
export interface Finding {
  readonly code: string;
  readonly level: "Error" | "Warning" | "Info";
  /** The object, as `Kind namespace/name`. */
  readonly origin: string;
  /** File and line of the definition. */
  readonly reference: string;
  readonly message: string;
}

export interface CertificateStatus {
  /** Name such as `Root` or `Serving certificate`. */
  readonly role: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Deadline for automatic renewal; absent if an operator renews the certificate. */
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
