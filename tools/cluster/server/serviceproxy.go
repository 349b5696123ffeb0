package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/rest"
)

// proxyREST serves the proxy subresource of pods and services: an HTTP request to a port, such as
// `services/istiod:15014/proxy/metrics`. Names may have a scheme and a port, or the name of one.
type proxyREST struct {
	// address returns the host and port of a name.
	address func(ctx context.Context, name, port string) (string, error)
	options runtime.Object
}

func (r *proxyREST) New() runtime.Object { return r.options }
func (*proxyREST) Destroy()              {}

func (*proxyREST) ConnectMethods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions}
}

// NewConnectOptions returns none: the handler reads the path itself.
func (*proxyREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, true, "path" }

func (r *proxyREST) Connect(ctx context.Context, id string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid name %q", id))
	}
	address, err := r.address(ctx, name, port)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, path, _ := strings.Cut(req.URL.Path, "/"+id+"/proxy")
		target := url.URL{Scheme: or(scheme, "http"), Host: address, Path: or(path, "/"), RawQuery: req.URL.RawQuery}
		forward := &httputil.ReverseProxy{
			Rewrite: func(request *httputil.ProxyRequest) {
				request.Out.URL, request.Out.Host = &target, ""
				request.Out.Header.Del("Authorization")
			},
			Transport: &http.Transport{DisableKeepAlives: true},
			ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
				responder.Error(apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err)))
			},
		}
		forward.ServeHTTP(w, req)
	}), nil
}

func podProxy(pods rest.Getter) *proxyREST {
	address := func(ctx context.Context, name, port string) (string, error) {
		found, err := pods.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		pod := found.(*corev1.Pod)
		if pod.Status.PodIP == "" {
			return "", apierrors.NewBadRequest(fmt.Sprintf("pod %s has no address", name))
		}
		if port == "" && len(pod.Spec.Containers[0].Ports) > 0 {
			port = strconv.Itoa(int(pod.Spec.Containers[0].Ports[0].ContainerPort))
		}
		return net.JoinHostPort(pod.Status.PodIP, or(port, "80")), nil
	}
	return &proxyREST{address, &corev1.PodProxyOptions{}}
}

func serviceProxy(services rest.Getter, slices rest.Lister) *proxyREST {
	address := func(ctx context.Context, name, port string) (string, error) {
		found, err := services.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		portName, err := servicePort(found.(*corev1.Service), port)
		if err != nil {
			return "", err
		}
		selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: name})
		list, err := slices.List(ctx, &internalversion.ListOptions{LabelSelector: selector})
		if err != nil {
			return "", err
		}
		for _, slice := range list.(*discoveryv1.EndpointSliceList).Items {
			if address := readyAddress(slice, portName); address != "" {
				return address, nil
			}
		}
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	return &proxyREST{address, &corev1.ServiceProxyOptions{}}
}

// servicePort returns the name of the port that a number or a name means, or of the only one.
func servicePort(service *corev1.Service, wanted string) (string, error) {
	for _, port := range service.Spec.Ports {
		if wanted == port.Name || wanted == strconv.Itoa(int(port.Port)) || (wanted == "" && len(service.Spec.Ports) == 1) {
			return port.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %q found for service %q", wanted, service.Name))
}

// readyAddress returns the first ready endpoint's host and port, or nothing.
func readyAddress(slice discoveryv1.EndpointSlice, portName string) string {
	for _, port := range slice.Ports {
		if valueOr(port.Name, "") != portName || port.Port == nil {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if valueOr(endpoint.Conditions.Ready, true) && len(endpoint.Addresses) > 0 {
				return net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port)))
			}
		}
	}
	return ""
}
