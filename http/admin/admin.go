package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/http/answer"
	"troupe/persistence"
)

// Admin is what operator commands run on: the running service, or the store of a service
// that does not run.
type Admin struct {
	Accounts *persistence.Accounts
	Secrets  *persistence.Secrets
	Flows    *persistence.Flows
	Actors   Actors
	Service  Service        // nil: no service runs
	Log      zerolog.Logger // of that service
	// Import brings what a single node has left in a folder; nil: the service is
	// no node of a cluster.
	Import func(ctx context.Context, from string) (*actors.Imported, error)
	// RemoveNode takes a node out of the cluster for ever; nil as well then.
	RemoveNode func(ctx context.Context, node string) error
	// NodeSecrets are the secrets that nodes know each other by; nil as well then.
	NodeSecrets NodeSecrets
	// Backups makes backups; nil: there is nothing of which this node could make one.
	Backups Backups

	// Audit keeps what operators did; nil: nothing does.
	Audit *persistence.Audit
	// By names the caller of the commands, and From the place that they come from.
	By   persistence.Issuer
	From string

	remote bool // the commands come over HTTP
}

// Actors is what the commands need of the actors: an [actors.Node], or an
// [actors.OfflineNode] while no service runs.
type Actors interface{ api.Doer }

// Service is what the commands need of the service that runs.
type Service interface {
	// Pause makes the service, or one of its nodes, refuse tasks or accept them again,
	// and counts; nil: it only counts.
	Pause(ctx context.Context, node string, on *bool) (answer.Capacity, error)
	// Clustered reports whether the service is a node of a cluster.
	Clustered() bool
	// Cluster returns what the node knows of all nodes; false without a cluster.
	Cluster(context.Context) (answer.Cluster, bool)
	// RevokeTickets ends the tickets and links of an account.
	RevokeTickets(ctx context.Context, account string) error
	// Play runs a task of an account and returns its answer, and whether it succeeded.
	Play(ctx context.Context, a persistence.Account, task []byte) (answer json.RawMessage, success bool, err error)
}

// Command is one command of the operator: plain data that crosses the private
// socket as JSON, with the type of its result. Its errors are sentences for people.
type Command[R any] interface {
	Do(context.Context, *Admin) (R, error)
	path() string
}

// timeLimit is how long a command may take.
func timeLimit(command any) time.Duration {
	if o, ok := command.(interface{ takes() time.Duration }); ok {
		return o.takes()
	}
	return persistence.Patience + 3*time.Second
}

// handlers are the commands by their paths.
var handlers = map[string]handler{}

// handler reads a command and carries it out. What the command is about is for the log.
type handler func(ctx context.Context, o *Admin, body []byte) (result json.RawMessage, about string, err error)

// commandTypes are the types of commands and of what they give, by their paths.
var commandTypes = map[string]struct{ command, result reflect.Type }{}

// aboutOf is whose or which thing a command changes. No secret is in it.
func aboutOf(command any) string {
	if o, ok := command.(interface{ about() string }); ok {
		return o.about()
	}
	return ""
}

// errUnread says that a command is not what its path says that it is.
var errUnread = errors.New("the command could not be read: does the service have the same version?")

// register makes a command known to the private socket.
func register[R any, O Command[R]](command O) {
	commandTypes[command.path()] = struct{ command, result reflect.Type }{reflect.TypeFor[O](), reflect.TypeFor[R]()}
	handlers[command.path()] = func(ctx context.Context, o *Admin, body []byte) (json.RawMessage, string, error) {
		var command O
		read := json.NewDecoder(bytes.NewReader(body))
		read.DisallowUnknownFields() // what is not understood must not be left out
		if read.Decode(&command) != nil {
			return nil, "", errUnread
		}
		ctx, cancel := context.WithTimeout(ctx, timeLimit(command))
		defer cancel()
		result, err := Run[R](ctx, o, command)
		if err != nil {
			return nil, aboutOf(command), err
		}
		b, err := json.Marshal(result)
		return b, aboutOf(command), err
	}
}

func init() {
	// These are for the private socket only: an operator's token that was stolen
	// must make no others of its kind, nor touch what accounts have entrusted.
	register(CreateOperator{})
	register(SetSecret{})
	register(ListSecrets{})
	register(RemoveSecret{})
	register(PutFlow{})
	register(ListFlows{})
	register(GetFlow{})
	register(RemoveFlow{})
	register(RunFlow{})
	register(ImportData{})
	register(RemoveNode{})
	register(ShowNodeSecrets{})
	register(ReloadNodeSecrets{})
	register(ListAudit{})
	register(BackUp{})

	registerRemote(ListAccounts{}, "listAccounts", "List the accounts")
	registerRemote(CreateAccount{}, "createAccount", "Create an account")
	registerRemote(SetPlan{}, "setPlan", "Change the plan of an account")
	registerRemote(DeleteAccount{}, "deleteAccount", "Delete an account and all its data")
	registerRemote(ListTokens{}, "listTokens", "List tokens by their ids")
	registerRemote(CreateToken{}, "createToken", "Make a token for an account. The answer is the only place that shows it")
	registerRemote(RevokeToken{}, "revokeToken", "Revoke a token")
	registerRemote(ListWorkers{}, "surveyWorkers", "List all workers")
	registerRemote(AddWorker{}, "addWorker", "Add a worker")
	registerRemote(DrainWorker{}, "drainWorker", "Drain a worker, so that it accepts no more tasks")
	registerRemote(ResumeWorker{}, "resumeWorker", "Let a drained worker accept tasks again")
	registerRemote(RemoveWorker{}, "removeWorker", "Remove a worker that was added")
	registerRemote(CountService{}, "countService", "Count the workers by state, and the waiting requests")
	registerRemote(ShowCluster{}, "showCluster", "List the nodes of the cluster")
	registerRemote(DrainService{}, "drainService", "Drain the service, so that it accepts no more tasks")
	registerRemote(ResumeService{}, "resumeService", "Let the service accept tasks again")
}

// account finds the account that a command names: by its name, or by its
// identifier.
func (o *Admin) account(ctx context.Context, who string) (persistence.Account, error) {
	find := o.Accounts.ByName
	if strings.Contains(who, "~") {
		find = o.Accounts.Get
	}
	a, err := find(ctx, who)
	if errors.Is(err, persistence.ErrNotFound) {
		err = fmt.Errorf("there is no account %q", who)
	}
	return a, err
}

// FinishRemovals ends the removals of accounts that were begun and did not come
// to their end.
func (o *Admin) FinishRemovals(ctx context.Context) error {
	begun, err := o.Accounts.Removed(ctx)
	if err != nil {
		return err
	}
	for _, a := range begun {
		if _, e := o.remove(ctx, a.ID); e != nil {
			err = errors.Join(err, fmt.Errorf("finish the removal of account %q: %w", a.Name, e))
		}
	}
	return err
}

// remove ends what an account has and forgets it. No token of it is valid from
// the first moment.
func (o *Admin) remove(ctx context.Context, id string) (*api.AccountRemoved, error) {
	if err := o.Accounts.Delete(ctx, id); err != nil {
		return nil, err
	}
	if o.Service != nil {
		if err := o.Service.RevokeTickets(ctx, id); err != nil {
			return nil, err
		}
	}
	r, err := api.Ask(ctx, o.Actors, &api.RemoveAccount{Account: id})
	if err != nil {
		return nil, err
	}
	if err := o.Accounts.Forget(ctx, id); err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return nil, err
	}
	return r, nil
}
