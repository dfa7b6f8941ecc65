package envoy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v2"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
)

// onPage returns Envoy's configuration on the page, which is the block of YAML with static_resources.
func onPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/front-doors.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "```yaml\nstatic_resources:")
	require.True(t, found)
	text, _, found := strings.Cut(after, "\n```\n")
	require.True(t, found)
	return "static_resources:" + text
}

// loadBootstrap reads a configuration by Envoy's types, with those of its filters, and their rules.
func loadBootstrap(text string) error {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return err
	}
	data, err := json.Marshal(withTextKeys(tree))
	if err != nil {
		return err
	}
	var b bootstrap.Bootstrap
	if err := protojson.Unmarshal(data, &b); err != nil {
		return err
	}
	if proto.Size(&b) == 0 {
		return os.ErrInvalid
	}
	return b.ValidateAll()
}

// withTextKeys makes of the library's mappings those that JSON can have.
func withTextKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key.(string)] = withTextKeys(value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = withTextKeys(v[i])
		}
	}
	return v
}

// TestEnvoyOnPage reads the configuration of docs/front-doors.md as Envoy does.
func TestEnvoyOnPage(t *testing.T) {
	text := onPage(t)
	require.NoError(t, loadBootstrap(text))
	for _, wrong := range [][2]string{
		{"enable_x_ratelimit_headers", "enable_ratelimit_headers"}, {"DRAFT_VERSION_03", "DRAFT_VERSION_11"},
		{"cluster_name: zlimit}", "cluster: zlimit}"}, {"filters.http.ratelimit.v3.RateLimit", "filters.RateLimit"},
	} {
		require.Contains(t, text, wrong[0])
		require.Error(t, loadBootstrap(strings.Replace(text, wrong[0], wrong[1], 1)), wrong[1])
	}
}
