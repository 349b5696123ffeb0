/** Fields of `Container`, which those of ephemeral containers repeat in Go. */
const containerFields = `  Name string
  Image string?
  Command []string?
  Args []string?
  WorkingDir string?
  Ports []ContainerPort? merge key:containerPort
  EnvFrom []EnvFromSource?
  Env []EnvVar? merge key:name
  Resources ResourceRequirements?
  ResizePolicy []ContainerResizePolicy?
  RestartPolicy *string?
  RestartPolicyRules []ContainerRestartRule?
  VolumeMounts []VolumeMount? merge key:mountPath
  VolumeDevices []VolumeDevice? merge key:devicePath
  LivenessProbe *Probe?
  ReadinessProbe *Probe?
  StartupProbe *Probe?
  Lifecycle *Lifecycle?
  TerminationMessagePath string?
  TerminationMessagePolicy string?
  ImagePullPolicy string?
  SecurityContext *SecurityContext?
  Stdin bool?
  StdinOnce bool?
  TTY bool?
`;

/** Types of containers. */
export const containerTypes = `
Container
${containerFields}EphemeralContainer
  EphemeralContainerCommon inline
  TargetContainerName string?
EphemeralContainerCommon
${containerFields}ContainerPort
  Name string?
  HostPort int32?
  ContainerPort int32
  Protocol string?
  HostIP string?
EnvFromSource
  Prefix string?
  ConfigMapRef *ConfigMapEnvSource?
  SecretRef *SecretEnvSource?
EnvVar
  Name string
  Value string?
  ValueFrom *EnvVarSource?
ContainerResizePolicy
  ResourceName string
  RestartPolicy string
ContainerRestartRule
  Action string?
  ExitCodes *ContainerRestartRuleOnExitCodes?
VolumeMount
  Name string
  ReadOnly bool?
  RecursiveReadOnly *string?
  MountPath string
  SubPath string?
  MountPropagation *string?
  SubPathExpr string?
VolumeDevice
  Name string
  DevicePath string
Probe
  ProbeHandler inline
  InitialDelaySeconds int32?
  TimeoutSeconds int32?
  PeriodSeconds int32?
  SuccessThreshold int32?
  FailureThreshold int32?
  TerminationGracePeriodSeconds *int64?
Lifecycle
  PostStart *LifecycleHandler?
  PreStop *LifecycleHandler?
  StopSignal *string?
SecurityContext
  Capabilities *Capabilities?
  Privileged *bool?
  SELinuxOptions *SELinuxOptions?
  WindowsOptions *WindowsSecurityContextOptions?
  RunAsUser *int64?
  RunAsGroup *int64?
  RunAsNonRoot *bool?
  ReadOnlyRootFilesystem *bool?
  AllowPrivilegeEscalation *bool?
  ProcMount *string?
  SeccompProfile *SeccompProfile?
  AppArmorProfile *AppArmorProfile?
ConfigMapEnvSource
  LocalObjectReference inline
  Optional *bool?
SecretEnvSource
  LocalObjectReference inline
  Optional *bool?
EnvVarSource
  FieldRef *ObjectFieldSelector?
  ResourceFieldRef *ResourceFieldSelector?
  ConfigMapKeyRef *ConfigMapKeySelector?
  SecretKeyRef *SecretKeySelector?
  FileKeyRef *FileKeySelector?
ContainerRestartRuleOnExitCodes
  Operator string?
  Values []int32?
ProbeHandler
  Exec *ExecAction?
  HTTPGet *HTTPGetAction?
  TCPSocket *TCPSocketAction?
  GRPC *GRPCAction?
LifecycleHandler
  Exec *ExecAction?
  HTTPGet *HTTPGetAction?
  TCPSocket *TCPSocketAction?
  Sleep *SleepAction?
Capabilities
  Add []string?
  Drop []string?
ObjectFieldSelector
  APIVersion string?
  FieldPath string
ResourceFieldSelector
  ContainerName string?
  Resource string
  Divisor Quantity?
ConfigMapKeySelector
  LocalObjectReference inline
  Key string
  Optional *bool?
SecretKeySelector
  LocalObjectReference inline
  Key string
  Optional *bool?
FileKeySelector
  VolumeName string
  Path string
  Key string
  Optional *bool?
ExecAction
  Command []string?
HTTPGetAction
  Path string?
  Port IntOrString
  Host string?
  Scheme string?
  HTTPHeaders []HTTPHeader?
TCPSocketAction
  Port IntOrString
  Host string?
GRPCAction
  Port int32
  Service *string
SleepAction
  Seconds int64
HTTPHeader
  Name string
  Value string
ResourceRequirements
  Limits map[string]Quantity?
  Requests map[string]Quantity?
  Claims []ResourceClaim?
ResourceClaim
  Name string
  Request string?
SELinuxOptions
  User string?
  Role string?
  Type string?
  Level string?
WindowsSecurityContextOptions
  GMSACredentialSpecName *string?
  GMSACredentialSpec *string?
  RunAsUserName *string?
  HostProcess *bool?
SeccompProfile
  Type string
  LocalhostProfile *string?
AppArmorProfile
  Type string
  LocalhostProfile *string?
`;
