package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"troupe/engine"
	"troupe/engine/browser"
	"troupe/engine/scarce"
	"troupe/http/telemetry"
)

// tryWithin bounds each thing that is tried with a browser. A small machine takes its time
// to start the first one.
const tryWithin = time.Minute

// examineBrowser starts a browser as the service would and plays a task with
// it. It reports the browser, its sandbox and the fonts, and how many threads
// the browser had.
func examineBrowser(ctx context.Context, c Browser) (all []Finding, threads int) {
	b := Finding{Check: "browser", Verdict: Problem}
	if c.Path == "" {
		var err error
		if c.Path, err = browser.Find(); err != nil {
			b.Found, b.Advice, _ = strings.Cut(err.Error(), ": ")
			return []Finding{b}, 0
		}
	}
	dir, err := os.MkdirTemp("", "troupe-doctor-")
	if err == nil {
		err = os.Chmod(dir, 0o711) // the browser may run as another user
		defer os.RemoveAll(dir)
	}
	if err != nil {
		b.Found, b.Advice = err.Error(), "free space for temporary files, or set the variable TMPDIR to another folder"
		return []Finding{b}, 0
	}
	sandbox := Finding{Check: "sandbox", Verdict: Good, Found: "it works"}
	v, err := try(ctx, c, dir, signs)
	switch {
	case c.NoSandbox:
		sandbox.Verdict, sandbox.Found, sandbox.Advice = Warning, "it is switched off by --no-sandbox", "every page can do what the browser's user can: leave the flag out"
	case err != nil:
		c.NoSandbox = true
		with := err
		if v, err = try(ctx, c, dir, signs); err == nil {
			sandbox = judgeSandbox(with, c.Fallback)
		}
	}
	if err != nil {
		return []Finding{judgeStart(c.Path, err, descriptors())}, 0
	}
	name := version(ctx, c.Path)
	b.Verdict = Good
	b.Found = fmt.Sprintf("%s (%s) is up in %d ms and plays a task", name, c.Path, v.up.Milliseconds())
	b = judgeAge(b, name)
	all = []Finding{b, sandbox}
	if f, found := judgeIsolation(c.Isolation); found {
		all = append(all, f)
	}
	return append(all, judgeFonts(v.missing)), v.threads
}

// judgeAge warns of a browser that is older than the one of the tests. There may be a newer
// one than that, too: only the system's packages know it, and they are kept current.
func judgeAge(f Finding, version string) Finding {
	if old := browser.Outdated(version); old != "" {
		f.Verdict, f.Found, f.Advice = Warning, f.Found+", and "+old, "update it: troupe browser install says how"
	}
	return f
}

// judgeIsolation warns of workers that are never cleaned.
func judgeIsolation(level engine.Isolation) (f Finding, found bool) {
	if level != engine.IsolateNone {
		return f, false
	}
	return Finding{
		Check: "isolation", Verdict: Warning, Found: "workers are never cleaned (--isolation none)",
		Advice: "every account can use the logins of all others: use none only for trusted tasks of one operator, else account or task",
	}, true
}

// visit is what was seen of a browser.
type visit struct {
	up      time.Duration
	threads int
	missing []string // scripts without a font
}

// try starts a browser and plays a task, which looks for fonts.
func try(ctx context.Context, c Browser, dir string, signs map[string]string) (v visit, err error) {
	eng, end, err := c.Engine(c.Path, dir, c.NoSandbox)
	if err != nil {
		return v, err
	}
	defer func() { _ = end() }()
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	began := time.Now()
	in, err := eng.Launch(ctx, "doctor")
	if err != nil {
		return v, err
	}
	defer in.Close()
	v.up = time.Since(began)
	all, err := json.Marshal(signs)
	if err != nil {
		return v, err
	}
	source, err := json.Marshal(map[string]any{"actions": []any{map[string]any{"open": "about:blank"}, map[string]any{"evaluate": fmt.Sprintf(fontsScript, all)}}})
	if err != nil {
		return v, err
	}
	task, err := engine.Parse(source, nil)
	if err != nil {
		return v, err
	}
	out := in.Play(ctx, task, engine.TaskEnv{TaskID: "doctor"})
	switch {
	case out.End != engine.EndCompleted:
		return v, fmt.Errorf("play a task: it ended %s", out.End)
	case len(out.Failures) > 0:
		return v, fmt.Errorf("play a task: %w", &out.Failures[0])
	}
	if err := json.Unmarshal(out.Data, &v.missing); err != nil {
		return v, fmt.Errorf("play a task: %w", err)
	}
	if p, ok := telemetry.Browsers(); ok {
		v.threads = p.Threads
	}
	return v, nil
}

// fontsScript paints a sign of each script and compares it with one that no font has. A
// sign that looks the same is a box in every picture.
const fontsScript = `
const signs = %s;
const paint = text => {
  const c = document.createElement('canvas'); c.width = c.height = 64;
  const g = c.getContext('2d', {willReadFrequently: true}); g.font = '40px sans-serif'; g.fillText(text, 8, 48);
  return g.getImageData(0, 0, 64, 64).data.join();
};
const none = [paint('\u0378'), paint(' ')];
return Object.keys(signs).filter(name => none.includes(paint(signs[name])));`

// signs has one of each script.
var signs = map[string]string{
	"Latin": "A", "Greek": "Ω", "Cyrillic": "Ж", "Arabic": "ع", "Hebrew": "א", "Devanagari": "क", "Thai": "ก",
	"Chinese": "漢", "Japanese": "あ", "Korean": "한", "emoji": "😀",
}

func judgeFonts(missing []string) Finding {
	f := Finding{Check: "fonts", Verdict: Good, Found: "there are fonts for all scripts that were tried"}
	if len(missing) == 0 {
		return f
	}
	f.Verdict, f.Found = Warning, "pictures show boxes for "+strings.Join(missing, ", ")
	f.Advice = "install fonts, on Debian or Ubuntu fonts-noto-core, fonts-noto-cjk and fonts-noto-color-emoji"
	if slices.Contains(missing, "Latin") {
		f.Verdict, f.Advice = Problem, "install fonts-liberation at least; "+f.Advice
	}
	return f
}

// leastDescriptors is how many files a browser must be able to open.
const leastDescriptors = descriptorsEach

// judgeStart says why a browser does not start. One that may not open enough files, or start
// no process, often says something else: it is another program that sees the error.
func judgeStart(path string, err error, limit uint64) Finding {
	f := Finding{Check: "browser", Verdict: Problem, Found: fmt.Sprintf("%s does not start: %v", path, err)}
	what := scarce.Of(err)
	switch text := err.Error(); {
	case what != "":
	case strings.Contains(text, syscall.EMFILE.Error()), strings.Contains(text, "Too many open files"), limit < leastDescriptors:
		what = scarce.Descriptors
	case strings.Contains(text, "Cannot allocate memory"):
		what = scarce.Memory
	case strings.Contains(text, "Resource temporarily unavailable"):
		what = scarce.Processes
	}
	switch what {
	case scarce.Descriptors:
		f.Found = fmt.Sprintf("too few files can be open (%d): %s", limit, f.Found)
		f.Advice = "raise the limit (LimitNOFILE= of a systemd unit, docker run --ulimit nofile=…, ulimit -n)"
	case scarce.Processes:
		f.Found = "no more processes and threads can be started: " + f.Found
		f.Advice = "raise the limit (docker run --pids-limit, TasksMax= of a systemd unit, ulimit -u)"
	case scarce.Memory:
		f.Found = "there is too little memory: " + f.Found
		f.Advice = "give the machine or the container more, or raise its limits (MemoryMax= of a systemd unit, docker run --memory, ulimit -v, sysctl vm.max_map_count)"
	default:
		f.Advice = "run " + path + " --version by hand and see what it says, or name another program with --browser"
	}
	return f
}

func judgeSandbox(err error, fallback bool) Finding {
	f := Finding{Check: "sandbox", Verdict: Problem, Found: "browsers start only without the sandbox: " + err.Error(), Advice: SandboxAdvice(err)}
	if fallback { // which the service does by itself then
		f.Verdict = Warning
	}
	return f
}

// imageProfile is the seccomp profile in the image.
const imageProfile = "/usr/share/troupe/seccomp.json"

// SandboxAdvice says what to do where browsers start only without their sandbox.
func SandboxAdvice(err error) string {
	switch _, no := os.Stat(imageProfile); {
	case errors.Is(err, syscall.EAGAIN): // it needs processes of its own
		return "allow more processes: raise ulimit -u, TasksMax= of a systemd unit, or docker run --pids-limit"
	case runtime.GOOS != "linux":
		return "start the service as a user who can start the browser by hand"
	case no == nil:
		return "start the container with the image's seccomp profile: docker run --rm --entrypoint cat IMAGE " + imageProfile +
			" > seccomp.json, then docker run --security-opt seccomp=seccomp.json and so on. " +
			"If it is there already, the machine forbids user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)"
	}
	return "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu an AppArmor profile for the browser, " +
		"in containers a seccomp profile that lets clone and unshare through), or as root make a user troupe that may read the temporary folder"
}

// version asks the program.
func version(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	text, err := browser.Version(ctx, program)
	if err != nil {
		return "a browser that does not say its version"
	}
	return text
}
