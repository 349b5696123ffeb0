import { defineSetting, stringSetting } from "@istiod/settings";

const clouds = ["aws", "azure", "gcp", "none"] as const;
type Cloud = "" | (typeof clouds)[number];

/** Settings of the cloud that the workload's machine is in. */
export const platformSettings = {
  cloudPlatform: defineSetting<Cloud>(
    {
      variable: "CLOUD_PLATFORM",
      default: "",
      help: "cloud whose metadata server is asked at startup for locality and metadata of the machine: aws, azure, gcp or none. Unlike Istio's agent, this one does not find out by itself, which takes up to 5 s elsewhere: Pods have the locality of their Node anyway",
    },
    {
      type: "enum",
      expected: `one of ${clouds.join(", ")}`,
      parse: (text) => (text === "" ? "" : clouds.find((cloud) => cloud === text.toLowerCase())),
      format: String,
    },
  ),
  gcpMetadata: stringSetting({
    variable: "GCP_METADATA",
    default: "",
    help: "PROJECT_ID|PROJECT_NUMBER|CLUSTER_NAME|CLUSTER_ZONE, in place of what Google's metadata server answers",
  }),
  gcpQuotaProject: stringSetting({
    variable: "GCP_QUOTA_PROJECT",
    default: "",
    help: "project that pays for requests to Google's APIs, with GCP_METADATA",
  }),
  gcpZone: stringSetting({ variable: "GCP_ZONE", default: "", help: "zone of the workload, with GCP_METADATA" }),
} as const;
