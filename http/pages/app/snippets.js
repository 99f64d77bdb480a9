// A task as a program, each whole and ready to run. The token comes from the
// environment: a program that is passed on must not hold it.

export const languages = { curl: ["curl", curl], go: ["Go", go], python: ["Python", python], javascript: ["JavaScript", javascript], n8n: ["n8n", n8n] };

function curl(base, task) {
  let end = "TASK";
  while (task.split("\n").includes(end)) end += "_";
  return `curl -sS '${base}/v1/' \\
  -H "Authorization: Bearer $TROUPE_TOKEN" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'${end}'
${task}
${end}
`;
}

function go(base, task) {
  const text = task.includes("`") ? JSON.stringify(task) : "`" + task + "`";
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

const task = ${text}

func main() {
	req, err := http.NewRequest("POST", "${base}/v1/", strings.NewReader(task))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("TROUPE_TOKEN"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		log.Fatal(err)
	}
}
`;
}

function python(base, task) {
  const raw = !task.includes("'''") && !/[\\']$/.test(task);
  return `import json
import os
import urllib.error
import urllib.request

task = ${raw ? `r'''${task}'''` : JSON.stringify(task)}

request = urllib.request.Request(
    "${base}/v1/",
    data=task.encode(),
    headers={
        "Authorization": "Bearer " + os.environ["TROUPE_TOKEN"],
        "Content-Type": "application/json",
    },
)
try:
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
except urllib.error.HTTPError as refused:
    answer = json.load(refused)
print(json.dumps(answer, indent=2, ensure_ascii=False))
`;
}

function javascript(base, task) {
  // A literal would take the name __proto__ for something else.
  const literal = task.includes("__proto__") ? `JSON.parse(${JSON.stringify(task)})` : task;
  return `// Node.js 18 or later, as a module (.mjs).
const task = ${literal};

const response = await fetch("${base}/v1/", {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.TROUPE_TOKEN}\`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify(task),
});
console.log(JSON.stringify(await response.json(), null, 2));
`;
}

// n8n gives the node that is pasted into a workflow. Its credential is one for
// header authentication: the header Authorization with "Bearer" and the token.
function n8n(base, task) {
  let timeout = 30_000;
  try {
    const t = JSON.parse(task);
    timeout = (t.timeout ?? timeout) + (t.queueTimeout ?? 0);
  } catch {
    // it is said elsewhere that this is no JSON
  }
  return JSON.stringify({
    nodes: [{
      parameters: {
        method: "POST", url: `${base}/v1/`, authentication: "genericCredentialType", genericAuthType: "httpHeaderAuth",
        sendBody: true, contentType: "json", specifyBody: "json", jsonBody: task, options: { timeout: timeout + 10_000 },
      },
      type: "n8n-nodes-base.httpRequest", typeVersion: 4.2, position: [0, 0], name: "Troupe",
    }],
    connections: {},
  }, null, 2) + "\n";
}
