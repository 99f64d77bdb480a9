package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"testing"

	"troupe/actors/api"
	"troupe/http"
	"troupe/http/answer"
)

// TestClusterTellsOfTheNodes where there are some, to who has a token.
func TestClusterTellsOfTheNodes(t *testing.T) {
	beside(t)
	ask := func(token string, change ...func(*http.Config)) (int, answer.Cluster) {
		t.Helper()
		e := openServer(t, &fakeActors{}, change...)
		c := e.dial(t, nil)
		_, _ = io.WriteString(c, "GET /v1/cluster HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var got answer.Cluster
		if r.StatusCode == 200 {
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
		}
		return r.StatusCode, got
	}
	if status, _ := ask("good"); status != 404 {
		t.Errorf("a single node answers %d", status)
	}
	nodes := func(c *http.Config) {
		c.Cluster = func(context.Context) answer.Cluster {
			return answer.Cluster{Success: true, Node: "n1", Nodes: []answer.ClusterNode{{Node: "n2", Up: true, Workers: map[api.State]int{api.Busy: 3}}}}
		}
	}
	if status, got := ask("good", nodes); status != 200 || len(got.Nodes) != 1 || got.Nodes[0].Workers[api.Busy] != 3 {
		t.Errorf("a node answers %d %+v", status, got)
	}
	if status, _ := ask("bad", nodes); status != 401 {
		t.Errorf("without a token it answers %d", status)
	}
}
