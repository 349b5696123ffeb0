/** A Pod in the form in which an API server sends it to a webhook. */
export interface Pod {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly spec: object;
}

/**
 * Returns a Pod of a Deployment with two containers, probes, volumes and managed fields. Variables of the first
 * container fill it up to so many bytes of JSON.
 */
export function podOfSize(bytes: number, number: number): Pod {
  const empty = pod(number, []);
  const missing = bytes - JSON.stringify(empty).length;
  const count = Math.max(0, Math.floor(missing / JSON.stringify(variable(100)).length));
  return pod(
    number,
    Array.from({ length: count }, (_, at) => variable(100 + at)),
  );
}

const variable = (at: number) => ({ name: `SETTING_${at}`, value: `value-${at}.shop.svc.cluster.local:8080` });

function pod(number: number, env: readonly object[]): Pod {
  const suffix = String(number).padStart(6, "0");
  const httpGet = { path: "/ready", port: "http", scheme: "HTTP" };
  const probe = { httpGet, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  const mounts = [
    { name: "data", mountPath: "/data" },
    { name: "kube-api-access-7x2vq", readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
  ];
  const policies = {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  };
  return {
    metadata: {
      name: `web-5d4f8c7b9-${suffix}`,
      generateName: "web-5d4f8c7b9-",
      namespace: "shop",
      uid: `705ab4f5-6393-11e8-b7cc-42010a${suffix}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "web", version: "v1", "pod-template-hash": "5d4f8c7b9", "app.kubernetes.io/name": "web" },
      annotations: {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9090",
        "proxy.istio.io/config": '{"concurrency": 2}',
      },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f8c7b9", uid: "1", controller: true },
      ],
      managedFields: [managedFields()],
    },
    spec: {
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "kube-api-access-7x2vq", projected: { sources: [], defaultMode: 420 } },
      ],
      containers: [
        {
          name: "web",
          image: "docker.io/shop/web:1.4.2",
          ports: [
            { name: "http", containerPort: 8080, protocol: "TCP" },
            { name: "metrics", containerPort: 9090, protocol: "TCP" },
          ],
          env,
          resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
          volumeMounts: mounts,
          livenessProbe: probe,
          readinessProbe: probe,
          ...policies,
        },
        { name: "agent", image: "docker.io/shop/agent:2", resources: {}, volumeMounts: mounts, ...policies },
      ],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      serviceAccountName: "web",
      securityContext: { fsGroup: 1000 },
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
    },
  };
}

/** Returns the fields of a Pod as the API server attributes them to the controller of ReplicaSets. */
function managedFields(): object {
  const fields = (names: readonly string[]) => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  const container = { ".": {}, ...fields(["image", "imagePullPolicy", "name", "resources", "terminationMessagePath"]) };
  return {
    manager: "kube-controller-manager",
    operation: "Update",
    apiVersion: "v1",
    time: "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": { "f:generateName": {}, "f:labels": { ".": {}, ...fields(["app", "version"]) } },
      "f:spec": {
        "f:containers": { 'k:{"name":"web"}': container, 'k:{"name":"agent"}': container },
        ...fields([
          "dnsPolicy",
          "enableServiceLinks",
          "restartPolicy",
          "schedulerName",
          "terminationGracePeriodSeconds",
        ]),
      },
    },
  };
}

/** Returns the review of a Pod that is created. */
export const admissionReview = (object: Pod, number: number) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: `705ab4f5-6393-11e8-b7cc-${String(number).padStart(12, "0")}`,
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    name: object.metadata.name,
    namespace: "shop",
    operation: "CREATE",
    userInfo: { username: "system:serviceaccount:kube-system:replicaset-controller" },
    object: { apiVersion: "v1", kind: "Pod", ...object },
    dryRun: false,
  },
});
