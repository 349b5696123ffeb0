package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/util/dryrun"
)

const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// serviceAllocator assigns cluster IPs and node ports. It is empty at the start, as the storage is.
type serviceAllocator struct {
	mu     sync.Mutex
	ranges map[corev1.IPFamily]netip.Prefix
	// used has the addresses and ports of services, by their text.
	used map[string]struct{}
}

func newServiceAllocator() *serviceAllocator {
	return &serviceAllocator{
		ranges: map[corev1.IPFamily]netip.Prefix{
			corev1.IPv4Protocol: netip.MustParsePrefix("10.96.0.0/16"),
			corev1.IPv6Protocol: netip.MustParsePrefix("fd00:10:96::/112"),
		},
		used: map[string]struct{}{},
	}
}

// install makes a store of services allocate on create and update, and release on delete.
func (a *serviceAllocator) install(store *genericregistry.Store) {
	store.BeginCreate = func(_ context.Context, obj runtime.Object, options *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		return a.begin(obj.(*corev1.Service), nil, dryrun.IsDryRun(options.DryRun))
	}
	store.BeginUpdate = func(_ context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
		return a.begin(obj.(*corev1.Service), old.(*corev1.Service), dryrun.IsDryRun(options.DryRun))
	}
	store.AfterDelete = func(obj runtime.Object, options *metav1.DeleteOptions) {
		if !dryrun.IsDryRun(options.DryRun) {
			a.release(allocations(obj.(*corev1.Service)))
		}
	}
}

func (a *serviceAllocator) begin(service, old *corev1.Service, dryRun bool) (genericregistry.FinishFunc, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var before []string
	if old != nil {
		before = allocations(old)
	}
	if err := a.allocate(service, before); err != nil {
		for value := range err.reserved {
			delete(a.used, value)
		}
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, field.ErrorList{err.cause})
	}
	after := allocations(service)
	return func(_ context.Context, success bool) {
		if success && !dryRun {
			a.release(difference(before, after))
		} else {
			a.release(difference(after, before))
		}
	}, nil
}

type allocationError struct {
	cause    *field.Error
	reserved map[string]bool
}

func (a *serviceAllocator) allocate(service *corev1.Service, before []string) *allocationError {
	reserved := map[string]bool{}
	reserve := func(value string) bool {
		if slices.Contains(before, value) || reserved[value] {
			return true
		}
		if _, taken := a.used[value]; taken {
			return false
		}
		a.used[value] = struct{}{}
		reserved[value] = true
		return true
	}
	cause := a.allocateAddresses(service, reserve)
	if cause == nil {
		cause = a.allocatePorts(service, before, reserve)
	}
	if cause != nil {
		return &allocationError{cause: cause, reserved: reserved}
	}
	return nil
}

func (a *serviceAllocator) allocateAddresses(service *corev1.Service, reserve func(string) bool) *field.Error {
	spec := &service.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy = "", nil, nil, nil
		return nil
	}
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 {
		spec.ClusterIP = spec.ClusterIPs[0]
	}
	setFamilies(spec)
	if spec.ClusterIP == corev1.ClusterIPNone {
		spec.ClusterIPs = []string{corev1.ClusterIPNone}
		return nil
	}
	if len(spec.ClusterIPs) == 0 && spec.ClusterIP != "" {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	for i, family := range spec.IPFamilies {
		path := field.NewPath("spec", "clusterIPs")
		if i < len(spec.ClusterIPs) && spec.ClusterIPs[i] != "" {
			address, err := netip.ParseAddr(spec.ClusterIPs[i])
			if err != nil {
				return field.Invalid(path.Index(i), spec.ClusterIPs[i], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
			}
			if !a.ranges[family].Contains(address) {
				return field.Invalid(path, spec.ClusterIPs, fmt.Sprintf(
					"failed to allocate IP %s: the provided IP (%s) is not in the valid range. The range of valid IPs is %s", address, address, a.ranges[family]))
			}
			if !reserve(address.String()) {
				return field.Invalid(path, spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", address))
			}
			continue
		}
		address, ok := a.free(family, reserve)
		if !ok {
			return field.Invalid(path, spec.ClusterIPs, "failed to allocate IP: range is full")
		}
		spec.ClusterIPs = append(spec.ClusterIPs[:i], address)
	}
	spec.ClusterIP = spec.ClusterIPs[0]
	return nil
}

// setFamilies completes IP families and their policy: a single IPv4 address unless the service requests others.
func setFamilies(spec *corev1.ServiceSpec) {
	if len(spec.IPFamilies) == 0 {
		first := corev1.IPv4Protocol
		if address, err := netip.ParseAddr(spec.ClusterIP); err == nil && address.Is6() {
			first = corev1.IPv6Protocol
		}
		spec.IPFamilies = []corev1.IPFamily{first}
	}
	if spec.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		if len(spec.IPFamilies) == 2 {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(spec.IPFamilies) == 1 {
		second := corev1.IPv6Protocol
		if spec.IPFamilies[0] == corev1.IPv6Protocol {
			second = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, second)
	}
}

func (a *serviceAllocator) free(family corev1.IPFamily, reserve func(string) bool) (string, bool) {
	prefix := a.ranges[family]
	for address := prefix.Addr().Next(); prefix.Contains(address); address = address.Next() {
		if reserve(address.String()) {
			return address.String(), true
		}
	}
	return "", false
}

func (a *serviceAllocator) allocatePorts(service *corev1.Service, before []string, reserve func(string) bool) *field.Error {
	spec := &service.Spec
	wanted := spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeLoadBalancer && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
		if port.NodePort != 0 {
			held := slices.Contains(before, nodePort(port.Protocol, port.NodePort))
			if !held && (port.NodePort < firstNodePort || port.NodePort > lastNodePort) {
				return field.Invalid(path, port.NodePort, fmt.Sprintf(
					"provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort))
			}
			if !reserve(nodePort(port.Protocol, port.NodePort)) {
				return field.Invalid(path, port.NodePort, "provided port is already allocated")
			}
			continue
		}
		for number := int32(firstNodePort); wanted && number <= lastNodePort; number++ {
			if reserve(nodePort(port.Protocol, number)) {
				port.NodePort = number
				break
			}
		}
		if wanted && port.NodePort == 0 {
			return field.Invalid(path, port.NodePort, "range is full")
		}
	}
	return nil
}

func nodePort(protocol corev1.Protocol, port int32) string {
	return fmt.Sprintf("%s/%d", protocol, port)
}

// allocations are the addresses and ports that a service holds.
func allocations(service *corev1.Service) []string {
	var held []string
	for _, text := range service.Spec.ClusterIPs {
		if address, err := netip.ParseAddr(text); err == nil {
			held = append(held, address.String())
		}
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			held = append(held, nodePort(port.Protocol, port.NodePort))
		}
	}
	return held
}

func difference(from, without []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(value string) bool { return slices.Contains(without, value) })
}

func (a *serviceAllocator) release(values []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, value := range values {
		delete(a.used, value)
	}
}

// keepClusterIP lets updates leave out what was allocated.
func keepClusterIP(obj, old runtime.Object) {
	spec, previous := &obj.(*corev1.Service).Spec, &old.(*corev1.Service).Spec
	if spec.Type == corev1.ServiceTypeExternalName || previous.Type == corev1.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = previous.ClusterIP
	}
	if len(spec.ClusterIPs) == 0 && spec.ClusterIP == previous.ClusterIP {
		spec.ClusterIPs = slices.Clone(previous.ClusterIPs)
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = slices.Clone(previous.IPFamilies)
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = previous.IPFamilyPolicy
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		if port.NodePort != 0 || spec.Type == corev1.ServiceTypeClusterIP {
			continue
		}
		for _, candidate := range previous.Ports {
			if candidate.Port == port.Port && candidate.Protocol == port.Protocol {
				port.NodePort = candidate.NodePort
			}
		}
	}
}

func validateService(obj, old runtime.Object) field.ErrorList {
	spec := obj.(*corev1.Service).Spec
	path := field.NewPath("spec")
	var errs field.ErrorList
	if len(spec.Ports) == 0 && spec.ClusterIP != corev1.ClusterIPNone && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	names := map[string]bool{}
	for i, port := range spec.Ports {
		at := path.Child("ports").Index(i)
		if port.Port < 1 || port.Port > 65535 {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, "must be between 1 and 65535, inclusive"))
		}
		if port.Name == "" && len(spec.Ports) > 1 {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if names[port.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		}
		names[port.Name] = true
	}
	if spec.Type == corev1.ServiceTypeExternalName && spec.ExternalName == "" {
		errs = append(errs, field.Required(path.Child("externalName"), ""))
	}
	if old != nil {
		previous := old.(*corev1.Service).Spec
		if previous.Type != corev1.ServiceTypeExternalName && spec.Type != corev1.ServiceTypeExternalName && spec.ClusterIP != previous.ClusterIP {
			errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), spec.ClusterIP, "may not change once set"))
		}
	}
	return errs
}
