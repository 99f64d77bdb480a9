package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/cluster/store"
	"troupe/http/admin"
	"troupe/http/answer"
)

type clusterCommands struct {
	Status clusterStatus `cmd:"" help:"Show all nodes, as the node of the data folder sees them."`
	Import clusterImport `cmd:"" help:"Import the data of a single node into the cluster. Stop that node first. You can repeat the import."`
	Secret clusterSecret `cmd:"" help:"Show and change the secret that nodes know each other by."`
	Remove clusterRemove `cmd:"" help:"Remove a node that is down from the cluster for good."`
}

type clusterStatus struct{ operator }

func (c *clusterStatus) Run(w *environment) error {
	now, err := sendCommand(w, c.operator, admin.ShowCluster{})
	if err != nil {
		return fmt.Errorf("look at the cluster: %w", err)
	}
	return c.print(w, now, func(out io.Writer) {
		rows := [][]string{{"NODE", "STATE", "SINCE", "HEARD", "ONLINE", "RESERVED", "BUSY", "OFFLINE", "WAITING", "LAG", "VERSION"}}
		for _, n := range now.Nodes {
			state, since := "down", n.Since
			switch {
			case n.Outside != "":
				state = "outside, understands " + n.Outside
			case n.Up && n.Draining:
				state = "draining"
			case n.Up:
				state = "up"
			}
			if n.Role != "" {
				state = n.Role + ", " + state
			}
			if n.Health != "" && n.Health != string(store.Well) {
				state += ", " + strings.ReplaceAll(n.Health, "_", " ")
			}
			if n.Node == now.Leader {
				state += ", leads"
			}
			if at, err := time.Parse(time.RFC3339Nano, n.Since); err == nil {
				since = minute(at)
			}
			heard := (time.Duration(n.Age) * time.Millisecond).String() + " ago"
			if n.Node == now.Node {
				heard = "here"
			}
			row := []string{n.Node, state, since, heard}
			for _, s := range []api.State{api.Online, api.Reserved, api.Busy, api.Offline} {
				row = append(row, strconv.Itoa(n.Workers[s]))
			}
			lag := "-"
			if n.Lag != nil {
				lag = strconv.FormatInt(*n.Lag, 10)
			}
			rows = append(rows, append(row, strconv.Itoa(n.Waiting), lag, n.Version))
		}
		table(out, rows)
		fmt.Fprintln(out)
		for _, g := range now.Groups {
			fmt.Fprintln(out, groupLine(g))
		}
		fmt.Fprintln(out, lossLine(now))
	})
}

// groupLine says who leads a group, and which copies are current.
func groupLine(g answer.ClusterGroup) string {
	leads := "no node leads"
	if g.Leader != "" {
		leads = g.Leader + " leads"
	}
	var current, others []string
	for _, c := range g.Copies {
		if c.Current {
			current = append(current, c.Node)
		} else {
			others = append(others, c.Node)
		}
	}
	line := fmt.Sprintf("%s: %s, %d of %d copies are current", g.Keeps, leads, len(current), len(g.Copies))
	if len(others) > 0 {
		line += ": not that of " + strings.Join(others, ", ")
	}
	return line
}

// lossLine says what the loss of one more node does.
func lossLine(now answer.Cluster) string {
	switch {
	case !now.Writes && now.Reason != "":
		return fmt.Sprintf("%s refuses writes: %s", now.Node, now.Reason)
	case !now.Writes:
		return now.Node + " refuses writes"
	case now.Losses == 0:
		return "writes: yes, until the loss of one more node"
	case now.Losses == 1:
		return "writes: yes, also after the loss of any one node"
	}
	return fmt.Sprintf("writes: yes, also after the loss of any %d nodes", now.Losses)
}

type clusterRemove struct {
	operator
	Name string `arg:"" help:"Name of the node."`
}

func (c *clusterRemove) Run(w *environment) error {
	gone, err := sendCommand(w, c.operator, admin.RemoveNode{Node: c.Name})
	if err != nil {
		return fmt.Errorf("remove a node: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) {
		fmt.Fprintf(out, "The node %s was removed from the cluster. Remove its address from --cluster-peers at the next start of each node.\n", gone.Node)
	})
}
