// Verifies requests with the library of the specification, as a receiver does: reads
// lines of JSON, and writes "ok" or why not for each of them.
const { Webhook } = require("standardwebhooks");
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { secret, body, headers } = JSON.parse(line);
  try {
    new Webhook(secret).verify(body, headers);
    console.log("ok");
  } catch (e) {
    console.log(`${e}`);
  }
});
