/** Types of the workloads that have Pod templates. Those of OpenShift that share a name with others have a prefix. */
export const workloadTypes = `
ReplicationController
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec ReplicationControllerSpec?
  Status ReplicationControllerStatus?
ReplicationControllerSpec
  Replicas *int32?
  MinReadySeconds int32?
  Selector map[string]string?
  Template *PodTemplateSpec?
PodTemplateSpec
  ObjectMeta ObjectMeta? json:metadata
  Spec PodSpec?
Deployment
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec DeploymentSpec?
  Status DeploymentStatus?
DeploymentSpec
  Replicas *int32?
  Selector *LabelSelector
  Template PodTemplateSpec
  Strategy DeploymentStrategy? retainKeys
  MinReadySeconds int32?
  RevisionHistoryLimit *int32?
  Paused bool?
  ProgressDeadlineSeconds *int32?
DeploymentStrategy
  Type string?
  RollingUpdate *RollingUpdateDeployment?
RollingUpdateDeployment
  MaxUnavailable *IntOrString?
  MaxSurge *IntOrString?
DaemonSet
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec DaemonSetSpec?
  Status DaemonSetStatus?
DaemonSetSpec
  Selector *LabelSelector
  Template PodTemplateSpec
  UpdateStrategy DaemonSetUpdateStrategy?
  MinReadySeconds int32?
  RevisionHistoryLimit *int32?
DaemonSetUpdateStrategy
  Type string?
  RollingUpdate *RollingUpdateDaemonSet?
RollingUpdateDaemonSet
  MaxUnavailable *IntOrString?
  MaxSurge *IntOrString?
ReplicaSet
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec ReplicaSetSpec?
  Status ReplicaSetStatus?
ReplicaSetSpec
  Replicas *int32?
  MinReadySeconds int32?
  Selector *LabelSelector
  Template PodTemplateSpec?
StatefulSet
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec StatefulSetSpec?
  Status StatefulSetStatus?
StatefulSetSpec
  Replicas *int32?
  Selector *LabelSelector
  Template PodTemplateSpec
  VolumeClaimTemplates []PersistentVolumeClaim?
  ServiceName string
  PodManagementPolicy string?
  UpdateStrategy StatefulSetUpdateStrategy?
  RevisionHistoryLimit *int32?
  MinReadySeconds int32?
  PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy?
  Ordinals *StatefulSetOrdinals?
StatefulSetUpdateStrategy
  Type string?
  RollingUpdate *RollingUpdateStatefulSetStrategy?
StatefulSetPersistentVolumeClaimRetentionPolicy
  WhenDeleted string?
  WhenScaled string?
StatefulSetOrdinals
  Start int32
RollingUpdateStatefulSetStrategy
  Partition *int32?
  MaxUnavailable *IntOrString?
Job
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec JobSpec?
  Status any?
JobSpec
  Parallelism *int32?
  Completions *int32?
  ActiveDeadlineSeconds *int64?
  PodFailurePolicy *PodFailurePolicy?
  SuccessPolicy *SuccessPolicy?
  BackoffLimit *int32?
  BackoffLimitPerIndex *int32?
  MaxFailedIndexes *int32?
  Selector *LabelSelector?
  ManualSelector *bool?
  Template PodTemplateSpec
  TTLSecondsAfterFinished *int32?
  CompletionMode *string?
  Suspend *bool?
  PodReplacementPolicy *string?
  ManagedBy *string?
PodFailurePolicy
  Rules []PodFailurePolicyRule
SuccessPolicy
  Rules []SuccessPolicyRule
PodFailurePolicyRule
  Action string
  OnExitCodes *PodFailurePolicyOnExitCodesRequirement?
  OnPodConditions []PodFailurePolicyOnPodConditionsPattern?
SuccessPolicyRule
  SucceededIndexes *string?
  SucceededCount *int32?
PodFailurePolicyOnExitCodesRequirement
  ContainerName *string?
  Operator string
  Values []int32
PodFailurePolicyOnPodConditionsPattern
  Type string
  Status string
CronJob
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec CronJobSpec?
  Status any?
CronJobSpec
  Schedule string
  TimeZone *string?
  StartingDeadlineSeconds *int64?
  ConcurrencyPolicy string?
  Suspend *bool?
  JobTemplate JobTemplateSpec
  SuccessfulJobsHistoryLimit *int32?
  FailedJobsHistoryLimit *int32?
JobTemplateSpec
  ObjectMeta ObjectMeta? json:metadata
  Spec JobSpec?
ObjectReference
  Kind string?
  Namespace string?
  Name string?
  UID string?
  APIVersion string?
  ResourceVersion string?
  FieldPath string?
DeploymentConfig
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec DeploymentConfigSpec
  Status DeploymentConfigStatus?
DeploymentConfigSpec
  Strategy OpenShiftDeploymentStrategy
  MinReadySeconds int32?
  Triggers []DeploymentTriggerPolicy
  Replicas int32
  RevisionHistoryLimit *int32?
  Test bool
  Paused bool?
  Selector map[string]string?
  Template *PodTemplateSpec?
OpenShiftDeploymentStrategy
  Type string?
  CustomParams *CustomDeploymentStrategyParams?
  RecreateParams *RecreateDeploymentStrategyParams?
  RollingParams *RollingDeploymentStrategyParams?
  Resources ResourceRequirements?
  Labels map[string]string?
  Annotations map[string]string?
  ActiveDeadlineSeconds *int64?
DeploymentTriggerPolicy
  Type string?
  ImageChangeParams *DeploymentTriggerImageChangeParams?
CustomDeploymentStrategyParams
  Image string?
  Environment []EnvVar?
  Command []string?
RecreateDeploymentStrategyParams
  TimeoutSeconds *int64?
  Pre *LifecycleHook?
  Mid *LifecycleHook?
  Post *LifecycleHook?
RollingDeploymentStrategyParams
  UpdatePeriodSeconds *int64?
  IntervalSeconds *int64?
  TimeoutSeconds *int64?
  MaxUnavailable *IntOrString?
  MaxSurge *IntOrString?
  Pre *LifecycleHook?
  Post *LifecycleHook?
DeploymentTriggerImageChangeParams
  Automatic bool?
  ContainerNames []string?
  From ObjectReference
  LastTriggeredImage string?
LifecycleHook
  FailurePolicy string
  ExecNewPod *ExecNewPodHook?
  TagImages []TagImageHook?
ExecNewPodHook
  Command []string
  Env []EnvVar?
  ContainerName string
  Volumes []string?
TagImageHook
  ContainerName string
  To ObjectReference
ReplicationControllerStatus
  Replicas int32
  FullyLabeledReplicas int32?
  ReadyReplicas int32?
  AvailableReplicas int32?
  ObservedGeneration int64?
  Conditions []any?
DaemonSetStatus
  CurrentNumberScheduled int32
  NumberMisscheduled int32
  DesiredNumberScheduled int32
  NumberReady int32
  ObservedGeneration int64?
  UpdatedNumberScheduled int32?
  NumberAvailable int32?
  NumberUnavailable int32?
  CollisionCount *int32?
  Conditions []any?
ReplicaSetStatus
  Replicas int32
  FullyLabeledReplicas int32?
  ReadyReplicas int32?
  AvailableReplicas int32?
  TerminatingReplicas *int32?
  ObservedGeneration int64?
  Conditions []any?
StatefulSetStatus
  ObservedGeneration int64?
  Replicas int32
  ReadyReplicas int32?
  CurrentReplicas int32?
  UpdatedReplicas int32?
  CurrentRevision string?
  UpdateRevision string?
  CollisionCount *int32?
  Conditions []any?
  AvailableReplicas int32
DeploymentConfigStatus
  LatestVersion int64
  ObservedGeneration int64
  Replicas int32
  UpdatedReplicas int32
  AvailableReplicas int32
  UnavailableReplicas int32
  Details any?
  Conditions []any?
  ReadyReplicas int32?
DeploymentStatus
  ObservedGeneration int64?
  Replicas int32?
  UpdatedReplicas int32?
  ReadyReplicas int32?
  AvailableReplicas int32?
  UnavailableReplicas int32?
  TerminatingReplicas *int32?
  Conditions []any?
  CollisionCount *int32?
`;
