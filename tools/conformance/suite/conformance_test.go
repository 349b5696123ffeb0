// Package suite runs the conformance suite of the Gateway API.
package suite

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// TestConformance runs the suite with the options of the command line: `conformance.test -h` lists them.
func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
