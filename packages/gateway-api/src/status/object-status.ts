import type { StatusCondition } from "./conditions.js";

/** The conditions of an object at one of the objects that it is attached to. */
export interface Attachment {
  /** Absent in statuses of InferencePools, which have no field for it. */
  readonly controllerName?: string;
  readonly conditions: readonly StatusCondition[];
}

interface ListenerConditions {
  readonly name: string;
  readonly attachedRoutes?: number;
  readonly conditions: readonly StatusCondition[];
}

/** The status of an object of any kind, without times and generations. Parts that are absent stay as they are. */
export interface ObjectStatus {
  readonly conditions?: readonly StatusCondition[];
  readonly listeners?: readonly ListenerConditions[];
  /** Empty: those of an earlier status stay. */
  readonly addresses?: readonly object[];
  readonly attachedListenerSets?: number;
  readonly supportedFeatures?: readonly { readonly name: string }[];
  /** Entries of other controllers are not among them, and stay. */
  readonly parents?: readonly (Attachment & { readonly parentRef: object })[];
  /** The Gateways (`namespace/name`) of istiod, whose entries are istiod's although they name no controller. */
  readonly ownGateways?: readonly string[];
  /** Entries of other controllers are not among them, and stay. */
  readonly ancestors?: readonly (Attachment & { readonly ancestorRef: object })[];
}
