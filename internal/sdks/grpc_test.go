package sdks

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// protoMessage is a protobuf message as JSON: encoding/json does not know its form.
type protoMessage[M proto.Message] struct{ Of M }

func (m protoMessage[M]) MarshalJSON() ([]byte, error) { return protojson.Marshal(m.Of) }

func (m *protoMessage[M]) UnmarshalJSON(data []byte) error {
	m.Of = m.Of.ProtoReflect().New().Interface().(M)
	return protojson.Unmarshal(data, m.Of)
}

// unary asks a method of a generated client.
func unary[Req, Res proto.Message](ctx context.Context, of string, request Req, call func(context.Context, Req) (Res, error), options ...adk.AskOptions) (Res, error) {
	res, err := adk.Ask(ctx, of, protoMessage[Req]{request}, func(ctx context.Context, r protoMessage[Req]) (protoMessage[Res], error) {
		answer, err := call(ctx, r.Of)
		return protoMessage[Res]{answer}, err
	}, options...)
	return res.Of, err
}

var statusErrors = map[string]trace.ErrorType{"grpc.Status": {
	Split: func(err error) map[string]string {
		of, ok := err.(interface{ GRPCStatus() *status.Status })
		if !ok {
			return nil
		}
		return map[string]string{"code": strconv.Itoa(int(of.GRPCStatus().Code())), "message": of.GRPCStatus().Message()}
	},
	Build: func(with map[string]string, _ error) error {
		code, err := strconv.ParseUint(with["code"], 10, 32)
		if err != nil {
			return nil
		}
		return status.Error(codes.Code(code), with["message"])
	},
}}

// WLD-2: what gRPC asks through adk.Ask is replayed with its status, without a server.
func TestGRPC(t *testing.T) {
	config := func(call func(context.Context, *structpb.Value) (*structpb.Value, error)) adk.Config {
		return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := unary(ctx, "values.Get", structpb.NewStringValue("gone"), call); status.Code(err) != codes.NotFound {
				return errors.Join(errors.New("it is there"), err)
			}
			res, err := unary(ctx, "values.Get", structpb.NewStringValue("name"), call)
			if err != nil {
				return err
			}
			if _, err := h.ReportMessage(dc.NewID(), res.GetStringValue(), true); err != nil {
				return err
			}
			return dc.Ack()
		}}}
	}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config(func(_ context.Context, key *structpb.Value) (*structpb.Value, error) {
		if key.GetStringValue() == "gone" {
			return nil, status.Error(codes.NotFound, "no such value")
		}
		return structpb.NewStringValue("Ann"), nil
	}), replay.Record(&recorded, replay.RecordOptions{ErrorTypes: statusErrors})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
	require.Contains(t, recorded.String(), `"Ann"`)
	live := replay.Live{Config: config(nil), Seams: []string{replay.Executor}}
	report, err := replay.Verify(t.Context(), &recorded, live, trace.Options{ErrorTypes: statusErrors})
	require.NoError(t, err)
	require.Nil(t, report.Divergence, report)
}
