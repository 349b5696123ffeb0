/** Types of the objects of a managed gateway, apart from its Deployment. */
export const gatewayTypes = `
Service
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec ServiceSpec?
  Status any?
ServiceSpec
  Ports []ServicePort? merge key:port
  Selector map[string]string?
  ClusterIP string?
  ClusterIPs []string? json:clusterIPs
  Type string?
  ExternalIPs []string? json:externalIPs
  SessionAffinity string?
  LoadBalancerIP string?
  LoadBalancerSourceRanges []string?
  ExternalName string?
  ExternalTrafficPolicy string?
  HealthCheckNodePort int32?
  PublishNotReadyAddresses bool?
  SessionAffinityConfig *SessionAffinityConfig?
  IPFamilies []string?
  IPFamilyPolicy *string?
  AllocateLoadBalancerNodePorts *bool?
  LoadBalancerClass *string?
  InternalTrafficPolicy *string?
  TrafficDistribution *string?
ServicePort
  Name string?
  Protocol string?
  AppProtocol *string?
  Port int32
  TargetPort IntOrString?
  NodePort int32?
SessionAffinityConfig
  ClientIP *ClientIPConfig?
ClientIPConfig
  TimeoutSeconds *int32?
ServiceAccount
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Secrets []ObjectReference? merge key:name
  ImagePullSecrets []LocalObjectReference?
  AutomountServiceAccountToken *bool?
HorizontalPodAutoscaler
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec HorizontalPodAutoscalerSpec?
  Status any?
HorizontalPodAutoscalerSpec
  ScaleTargetRef CrossVersionObjectReference
  MinReplicas *int32?
  MaxReplicas int32
  Metrics []MetricSpec?
  Behavior *HorizontalPodAutoscalerBehavior?
CrossVersionObjectReference
  Kind string
  Name string
  APIVersion string?
MetricSpec
  Type string
  Object *any?
  Pods *any?
  Resource *any?
  ContainerResource *any?
  External *any?
HorizontalPodAutoscalerBehavior
  ScaleUp *HPAScalingRules?
  ScaleDown *HPAScalingRules?
HPAScalingRules
  StabilizationWindowSeconds *int32?
  SelectPolicy *string?
  Policies []HPAScalingPolicy?
  Tolerance *Quantity?
HPAScalingPolicy
  Type string
  Value int32
  PeriodSeconds int32
PodDisruptionBudget
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec PodDisruptionBudgetSpec?
  Status any?
PodDisruptionBudgetSpec
  MinAvailable *IntOrString?
  Selector *LabelSelector? replace
  MaxUnavailable *IntOrString?
  UnhealthyPodEvictionPolicy *string?
`;
