// Deploycheck reads the files of deploy/ as the tools do that they are for, and
// refuses what those would refuse. It is a module of its own: nothing of it is in
// the service.
//
//	deploycheck containerfile FILE
//	deploycheck compose FILE
//	deploycheck kubernetes FILE…
//	deploycheck chart CHART FOLDER [VALUES…]    a Helm chart, and the plain files made from it; -w writes them
//	deploycheck scrape PROMETHEUS.YML FILE…    whether all pods with metrics are scraped
//	deploycheck seccomp FILE    compares the file with what it is made from; -w writes it,
//	                            -docker what Docker has by default
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "want one of containerfile, compose, kubernetes, chart, scrape and seccomp, and files")
		os.Exit(2)
	}
	ctx, files := context.Background(), os.Args[2:]
	var err error
	switch os.Args[1] {
	case "containerfile":
		err = checkContainerfile(ctx, files[0])
	case "compose":
		err = checkCompose(ctx, files[0])
	case "kubernetes":
		err = checkKubernetes(files)
	case "chart":
		err = checkChart(files)
	case "scrape":
		err = checkScrape(files[0], files[1:])
	case "seccomp":
		err = checkSeccomp(files)
	default:
		err = fmt.Errorf("%q is none of containerfile, compose, kubernetes, chart, scrape and seccomp", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
