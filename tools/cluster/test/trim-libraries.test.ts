import { expect, test } from "vitest";
import { trimInformers } from "../src/trim-libraries.js";

const factory = `package informers

import (
	sync "sync"

	apps "k8s.io/client-go/informers/apps"
	core "k8s.io/client-go/informers/core"
	kubernetes "k8s.io/client-go/kubernetes"
)

type sharedInformerFactory struct {
	client kubernetes.Interface
	lock   sync.Mutex
}

type SharedInformerFactory interface {
	Apps() apps.Interface
	Core() core.Interface
}

func (f *sharedInformerFactory) Apps() apps.Interface {
	return apps.New(f, f.namespace)
}

func (f *sharedInformerFactory) Core() core.Interface {
	return core.New(f, f.namespace)
}
`;

const generic = `package informers

import (
	v1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func (f *sharedInformerFactory) ForResource(resource string) (informer, error) {
	switch resource {
	case v1.SchemeGroupVersion.WithResource("deployments"):
		return &genericInformer{informer: f.Apps().V1().Deployments().Informer()}, nil
	case corev1.SchemeGroupVersion.WithResource("pods"):
		return &genericInformer{informer: f.Core().V1().Pods().Informer()}, nil
	}
}
`;

test("informers of other groups are removed with their imports", () => {
  const trimmed = trimInformers(factory, generic, new Set(["core"]));
  expect(trimmed.factory).toBe(
    factory
      .replace('\tapps "k8s.io/client-go/informers/apps"\n', "")
      .replace("\tApps() apps.Interface\n", "")
      .replace(/func \(f \*sharedInformerFactory\) Apps\(\)[^}]*}\n/, ""),
  );
  expect(trimmed.generic).toBe(generic.replace('\tv1 "k8s.io/api/apps/v1"\n', "").replace(/\tcase v1\..*\n.*\n/, ""));
});

test("a group that client-go does not have is an error", () => {
  expect(() => trimInformers(factory, generic, new Set(["carts"]))).toThrow("client-go has no informers of carts");
});
