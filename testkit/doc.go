// Package testkit starts the real actors with an engine that follows a script
// instead of a browser, and drives them by messages. It is for the service's
// own tests, and for programs that embed the actors.
//
// [Run] does it in a bubble of testing/synctest, where time is fake: minutes of
// sessions and deadlines pass in no time, and nothing depends on luck.
//
//	testkit.Run(t, testkit.Options{Workers: 1}, func(t *testing.T, k *testkit.Kit) {
//		r := k.Start(testkit.Pro("anna"), testkit.Task(), testkit.Script{Takes: 3 * time.Second})
//		k.Until("w1", api.Busy)
//		k.WantEnd(r, engine.EndCompleted)
//	})
//
// A test says what a task does when it sends it: see [Script]. It tells the
// [Engine] what happens to a worker's browser between tasks: it can kill one,
// refuse to start one, or be slow in cleaning it. Each browser remembers which
// tasks it has played since it was clean, and says so in the default result, so
// a test sees at once when one task could see another.
//
// A kit's store and files outlive its node: [Kit.Crash] ends the node as the
// death of its process does, and [Kit.Boot] starts the next one on what is left.
// Asynchronous tasks are started with [Kit.StartAsync] and asked for with
// [Kit.Poll] and [Kit.Follow]; requests with a key are sent with [Kit.Send].
//
// A test with fake time can run again with real browsers:
// the scripted engine then runs on a real one, see [Backend], and [New] starts
// the kit in real time.
//
// The examples of this package are whole tests. If you write your own engine or store,
// testkit/enginetest and persistence/storetest test what it must promise, and [Options]
// gives it to a kit.
//
// At its end a kit stops the actors and fails the test if a browser was left
// open or was used in a way that the engine's contract forbids.
package testkit
