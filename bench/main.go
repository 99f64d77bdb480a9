package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"troupe/engine/browser"
)

// measurement is a part of the report and what makes it.
type measurement struct {
	name string
	run  func(*bench, *part) error
	asks bool // runs only when it is asked for: it takes long
}

// documentOf names the document with the place of a part.
func documentOf(part string) string {
	switch part {
	case "cluster":
		return "docs/cluster.md"
	case "attacks":
		return "docs/security.md"
