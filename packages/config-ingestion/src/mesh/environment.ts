import { collection } from "@istiod/incremental";

/** Environment variables of istiod that change what is generated, by name. */
export const environment = collection<string>("Environment");
