package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// nodeSocketAnnotation of a Node is the path of a Unix socket on which the node executes commands in containers,
// sends their logs and connects to ports of pods.
const nodeSocketAnnotation = "cluster.istiod.local/node-socket"

// maxNodeError is the number of bytes of an error that the server accepts from a node.
const maxNodeError = 1 << 20

// nodeOfPod returns a pod and the socket of its node.
func nodeOfPod(ctx context.Context, pods, nodes rest.Getter, name string) (*corev1.Pod, string, error) {
	found, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	pod := found.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return nil, "", apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	if found, err = nodes.Get(request.WithNamespace(ctx, ""), pod.Spec.NodeName, &metav1.GetOptions{}); err != nil {
		return nil, "", err
	}
	socket := found.(*corev1.Node).Annotations[nodeSocketAnnotation]
	if socket == "" {
		return nil, "", apierrors.NewBadRequest(fmt.Sprintf("node %s does not answer for its containers", pod.Spec.NodeName))
	}
	return pod, socket, nil
}

// containerNames returns the names of a pod's containers, of its init containers, and of its ephemeral ones.
func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, container := range containers {
			names = append(names, container.Name)
		}
	}
	for _, container := range pod.Spec.EphemeralContainers {
		names = append(names, container.Name)
	}
	return names
}

// askNode sends a request to a node and returns what it answers. The node's own error is a bad request.
func askNode(ctx context.Context, socket, path string, question any) (io.ReadCloser, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	response, err := transport.RoundTrip(post)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		message, _ := io.ReadAll(io.LimitReader(response.Body, maxNodeError))
		return nil, apierrors.NewBadRequest(string(message))
	}
	return response.Body, nil
}

// upgradeToNode opens a connection to a node by which both send what they want. The node's own error is the error.
func upgradeToNode(ctx context.Context, socket, path string, query url.Values) (*net.UnixConn, io.Reader, error) {
	dialed, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, nil, err
	}
	connection := dialed.(*net.UnixConn)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/"+path+"?"+query.Encode(), nil)
	if err != nil {
		connection.Close()
		return nil, nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	if err = request.Write(connection); err != nil {
		connection.Close()
		return nil, nil, err
	}
	buffered := bufio.NewReader(connection)
	response, err := http.ReadResponse(buffered, request)
	if err != nil {
		connection.Close()
		return nil, nil, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer connection.Close()
		message, _ := io.ReadAll(io.LimitReader(response.Body, maxNodeError))
		return nil, nil, fmt.Errorf("%s", message)
	}
	return connection, buffered, nil
}
