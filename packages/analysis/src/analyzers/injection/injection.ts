import { namespaceKind, namespaces, podKind, pods, workloadKinds } from "@istiod/config-schema";
import { type Analyzer, rule } from "../../analyzer.js";
import { checkPodImage, checkTemplateImage } from "./auto-image.js";
import { checkNamespace, checkSidecar } from "./namespace-labels.js";
import { checkProxyImages } from "./proxy-images.js";

/** Analyzers of sidecar injection. */
export const injectionAnalyzers: readonly Analyzer[] = [
  {
    name: "injection.Analyzer",
    description: "Checks the injection labels of namespaces, and that pods have sidecars where injection is enabled",
    codes: ["IST0102", "IST0103", "IST0123", "IST0148"],
    rules: [rule(namespaceKind, namespaces, checkNamespace), rule(podKind, pods, checkSidecar)],
  },
  {
    name: "injection.ImageAnalyzer",
    description: "Checks that pods run the proxy image that injection gives them",
    codes: ["IST0158"],
    rules: [rule(namespaceKind, namespaces, checkProxyImages)],
  },
  {
    name: "injection.ImageAutoAnalyzer",
    description: "Checks that pods and deployments with `image: auto` are injected",
    codes: ["IST0146", "IST0147"],
    rules: [
      rule(podKind, pods, checkPodImage),
      ...workloadKinds.map((kind) => rule(kind, kind.collection, checkTemplateImage(kind))),
    ],
  },
];
