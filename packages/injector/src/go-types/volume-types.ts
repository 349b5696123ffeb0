/** Types of volumes. */
export const volumeTypes = `
Volume
  Name string
  VolumeSource inline
VolumeSource
  HostPath *HostPathVolumeSource?
  EmptyDir *EmptyDirVolumeSource?
  GCEPersistentDisk *GCEPersistentDiskVolumeSource?
  AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource?
  GitRepo *GitRepoVolumeSource?
  Secret *SecretVolumeSource?
  NFS *NFSVolumeSource?
  ISCSI *ISCSIVolumeSource?
  Glusterfs *GlusterfsVolumeSource?
  PersistentVolumeClaim *PersistentVolumeClaimVolumeSource?
  RBD *RBDVolumeSource?
  FlexVolume *FlexVolumeSource?
  Cinder *CinderVolumeSource?
  CephFS *CephFSVolumeSource? json:cephfs
  Flocker *FlockerVolumeSource?
  DownwardAPI *DownwardAPIVolumeSource?
  FC *FCVolumeSource?
  AzureFile *AzureFileVolumeSource?
  ConfigMap *ConfigMapVolumeSource?
  VsphereVolume *VsphereVirtualDiskVolumeSource?
  Quobyte *QuobyteVolumeSource?
  AzureDisk *AzureDiskVolumeSource?
  PhotonPersistentDisk *PhotonPersistentDiskVolumeSource?
  Projected *ProjectedVolumeSource?
  PortworxVolume *PortworxVolumeSource?
  ScaleIO *ScaleIOVolumeSource?
  StorageOS *StorageOSVolumeSource? json:storageos
  CSI *CSIVolumeSource?
  Ephemeral *EphemeralVolumeSource?
  Image *ImageVolumeSource?
HostPathVolumeSource
  Path string
  Type *string?
EmptyDirVolumeSource
  Medium string?
  SizeLimit *Quantity?
GCEPersistentDiskVolumeSource
  PDName string
  FSType string?
  Partition int32?
  ReadOnly bool?
AWSElasticBlockStoreVolumeSource
  VolumeID string
  FSType string?
  Partition int32?
  ReadOnly bool?
GitRepoVolumeSource
  Repository string
  Revision string?
  Directory string?
SecretVolumeSource
  SecretName string?
  Items []KeyToPath?
  DefaultMode *int32?
  Optional *bool?
NFSVolumeSource
  Server string
  Path string
  ReadOnly bool?
ISCSIVolumeSource
  TargetPortal string
  IQN string
  Lun int32
  ISCSIInterface string?
  FSType string?
  ReadOnly bool?
  Portals []string?
  DiscoveryCHAPAuth bool? json:chapAuthDiscovery
  SessionCHAPAuth bool? json:chapAuthSession
  SecretRef *LocalObjectReference?
  InitiatorName *string?
GlusterfsVolumeSource
  EndpointsName string json:endpoints
  Path string
  ReadOnly bool?
PersistentVolumeClaimVolumeSource
  ClaimName string
  ReadOnly bool?
RBDVolumeSource
  CephMonitors []string json:monitors
  RBDImage string json:image
  FSType string?
  RBDPool string? json:pool
  RadosUser string? json:user
  Keyring string?
  SecretRef *LocalObjectReference?
  ReadOnly bool?
FlexVolumeSource
  Driver string
  FSType string?
  SecretRef *LocalObjectReference?
  ReadOnly bool?
  Options map[string]string?
CinderVolumeSource
  VolumeID string
  FSType string?
  ReadOnly bool?
  SecretRef *LocalObjectReference?
CephFSVolumeSource
  Monitors []string
  Path string?
  User string?
  SecretFile string?
  SecretRef *LocalObjectReference?
  ReadOnly bool?
FlockerVolumeSource
  DatasetName string?
  DatasetUUID string?
DownwardAPIVolumeSource
  Items []DownwardAPIVolumeFile?
  DefaultMode *int32?
FCVolumeSource
  TargetWWNs []string?
  Lun *int32?
  FSType string?
  ReadOnly bool?
  WWIDs []string? json:wwids
AzureFileVolumeSource
  SecretName string
  ShareName string
  ReadOnly bool?
ConfigMapVolumeSource
  LocalObjectReference inline
  Items []KeyToPath?
  DefaultMode *int32?
  Optional *bool?
VsphereVirtualDiskVolumeSource
  VolumePath string
  FSType string?
  StoragePolicyName string?
  StoragePolicyID string?
QuobyteVolumeSource
  Registry string
  Volume string
  ReadOnly bool?
  User string?
  Group string?
  Tenant string?
AzureDiskVolumeSource
  DiskName string
  DataDiskURI string json:diskURI
  CachingMode *string?
  FSType *string?
  ReadOnly *bool?
  Kind *string?
PhotonPersistentDiskVolumeSource
  PdID string
  FSType string?
ProjectedVolumeSource
  Sources []VolumeProjection
  DefaultMode *int32?
PortworxVolumeSource
  VolumeID string
  FSType string?
  ReadOnly bool?
ScaleIOVolumeSource
  Gateway string
  System string
  SecretRef *LocalObjectReference
  SSLEnabled bool?
  ProtectionDomain string?
  StoragePool string?
  StorageMode string?
  VolumeName string?
  FSType string?
  ReadOnly bool?
StorageOSVolumeSource
  VolumeName string?
  VolumeNamespace string?
  FSType string?
  ReadOnly bool?
  SecretRef *LocalObjectReference?
CSIVolumeSource
  Driver string
  ReadOnly *bool?
  FSType *string?
  VolumeAttributes map[string]string?
  NodePublishSecretRef *LocalObjectReference?
EphemeralVolumeSource
  VolumeClaimTemplate *PersistentVolumeClaimTemplate?
ImageVolumeSource
  Reference string?
  PullPolicy string?
KeyToPath
  Key string
  Path string
  Mode *int32?
DownwardAPIVolumeFile
  Path string
  FieldRef *ObjectFieldSelector?
  ResourceFieldRef *ResourceFieldSelector?
  Mode *int32?
VolumeProjection
  Secret *SecretProjection?
  DownwardAPI *DownwardAPIProjection?
  ConfigMap *ConfigMapProjection?
  ServiceAccountToken *ServiceAccountTokenProjection?
  ClusterTrustBundle *ClusterTrustBundleProjection?
  PodCertificate *PodCertificateProjection?
PersistentVolumeClaimTemplate
  ObjectMeta ObjectMeta? json:metadata
  Spec PersistentVolumeClaimSpec
SecretProjection
  LocalObjectReference inline
  Items []KeyToPath?
  Optional *bool?
DownwardAPIProjection
  Items []DownwardAPIVolumeFile?
ConfigMapProjection
  LocalObjectReference inline
  Items []KeyToPath?
  Optional *bool?
ServiceAccountTokenProjection
  Audience string?
  ExpirationSeconds *int64?
  Path string
ClusterTrustBundleProjection
  Name *string?
  SignerName *string?
  LabelSelector *LabelSelector?
  Optional *bool?
  Path string
PodCertificateProjection
  SignerName string?
  KeyType string?
  MaxExpirationSeconds *int32?
  CredentialBundlePath string?
  KeyPath string?
  CertificateChainPath string?
  UserAnnotations map[string]string?
PersistentVolumeClaimSpec
  AccessModes []string?
  Selector *LabelSelector?
  Resources VolumeResourceRequirements?
  VolumeName string?
  StorageClassName *string?
  VolumeMode *string?
  DataSource *TypedLocalObjectReference?
  DataSourceRef *TypedObjectReference?
  VolumeAttributesClassName *string?
VolumeResourceRequirements
  Limits map[string]Quantity?
  Requests map[string]Quantity?
TypedLocalObjectReference
  APIGroup *string
  Kind string
  Name string
TypedObjectReference
  APIGroup *string
  Kind string
  Name string
  Namespace *string?
PersistentVolumeClaim
  TypeMeta inline
  ObjectMeta ObjectMeta? json:metadata
  Spec PersistentVolumeClaimSpec?
  Status any?
`;
