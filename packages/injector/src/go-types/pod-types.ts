/** Types of Pods and their metadata, apart from containers and volumes. */
export const podTypes = `
Pod
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec PodSpec?
  Status any?
TypeMeta
  Kind string?
  APIVersion string?
ObjectMeta
  Name string?
  GenerateName string?
  Namespace string?
  SelfLink string?
  UID string?
  ResourceVersion string?
  Generation int64?
  CreationTimestamp Time?!
  DeletionTimestamp *Time?
  DeletionGracePeriodSeconds *int64?
  Labels map[string]string?
  Annotations map[string]string?
  OwnerReferences []OwnerReference? merge key:uid
  Finalizers []string? merge
  ManagedFields []any?
PodSpec
  Volumes []Volume? merge,retainKeys key:name
  InitContainers []Container? merge key:name
  Containers []Container merge key:name
  EphemeralContainers []EphemeralContainer? merge key:name
  RestartPolicy string?
  TerminationGracePeriodSeconds *int64?
  ActiveDeadlineSeconds *int64?
  DNSPolicy string?
  NodeSelector map[string]string?
  ServiceAccountName string?
  DeprecatedServiceAccount string? json:serviceAccount
  AutomountServiceAccountToken *bool?
  NodeName string?
  HostNetwork bool?
  HostPID bool?
  HostIPC bool?
  ShareProcessNamespace *bool?
  SecurityContext *PodSecurityContext?
  ImagePullSecrets []LocalObjectReference? merge key:name
  Hostname string?
  Subdomain string?
  Affinity *Affinity?
  SchedulerName string?
  Tolerations []Toleration?
  HostAliases []HostAlias? merge key:ip
  PriorityClassName string?
  Priority *int32?
  DNSConfig *PodDNSConfig?
  ReadinessGates []PodReadinessGate?
  RuntimeClassName *string?
  EnableServiceLinks *bool?
  PreemptionPolicy *string?
  Overhead map[string]Quantity?
  TopologySpreadConstraints []TopologySpreadConstraint? merge key:topologyKey
  SetHostnameAsFQDN *bool?
  OS *PodOS?
  HostUsers *bool?
  SchedulingGates []PodSchedulingGate? merge key:name
  ResourceClaims []PodResourceClaim? merge,retainKeys key:name
  Resources *ResourceRequirements?
  HostnameOverride *string?
  SchedulingGroup *PodSchedulingGroup?
OwnerReference
  APIVersion string
  Kind string
  Name string
  UID string
  Controller *bool?
  BlockOwnerDeletion *bool?
PodSecurityContext
  SELinuxOptions *SELinuxOptions?
  WindowsOptions *WindowsSecurityContextOptions?
  RunAsUser *int64?
  RunAsGroup *int64?
  RunAsNonRoot *bool?
  SupplementalGroups []int64?
  SupplementalGroupsPolicy *string?
  FSGroup *int64?
  Sysctls []Sysctl?
  FSGroupChangePolicy *string?
  SeccompProfile *SeccompProfile?
  AppArmorProfile *AppArmorProfile?
  SELinuxChangePolicy *string?
LocalObjectReference
  Name string?
Affinity
  NodeAffinity *NodeAffinity?
  PodAffinity *PodAffinity?
  PodAntiAffinity *PodAntiAffinity?
Toleration
  Key string?
  Operator string?
  Value string?
  Effect string?
  TolerationSeconds *int64?
HostAlias
  IP string
  Hostnames []string?
PodDNSConfig
  Nameservers []string?
  Searches []string?
  Options []PodDNSConfigOption?
PodReadinessGate
  ConditionType string
TopologySpreadConstraint
  MaxSkew int32
  TopologyKey string
  WhenUnsatisfiable string
  LabelSelector *LabelSelector?
  MinDomains *int32?
  NodeAffinityPolicy *string?
  NodeTaintsPolicy *string?
  MatchLabelKeys []string?
PodOS
  Name string
PodSchedulingGate
  Name string
PodResourceClaim
  Name string
  ResourceClaimName *string?
  ResourceClaimTemplateName *string?
PodSchedulingGroup
  PodGroupName *string?
Sysctl
  Name string
  Value string
NodeAffinity
  RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector?
  PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm?
PodAffinity
  RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm?
  PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm?
PodAntiAffinity
  RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm?
  PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm?
PodDNSConfigOption
  Name string?
  Value *string?
LabelSelector
  MatchLabels map[string]string?
  MatchExpressions []LabelSelectorRequirement?
NodeSelector
  NodeSelectorTerms []NodeSelectorTerm
PreferredSchedulingTerm
  Weight int32
  Preference NodeSelectorTerm
PodAffinityTerm
  LabelSelector *LabelSelector?
  Namespaces []string?
  TopologyKey string
  NamespaceSelector *LabelSelector?
  MatchLabelKeys []string?
  MismatchLabelKeys []string?
WeightedPodAffinityTerm
  Weight int32
  PodAffinityTerm PodAffinityTerm
LabelSelectorRequirement
  Key string
  Operator string
  Values []string?
NodeSelectorTerm
  MatchExpressions []NodeSelectorRequirement?
  MatchFields []NodeSelectorRequirement?
NodeSelectorRequirement
  Key string
  Operator string
  Values []string?
`;
