package whatsappweb

import (
	"time"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"google.golang.org/protobuf/proto"
)

// device is the SDK's device.
type device struct{ *store.Device }

// linked tells whether it belongs to an account.
func (d device) linked() bool { return d.ID != nil }

// phone is the account's number, with its plus.
func (d device) phone() string { return "+" + d.GetJID().User }

// since is when the phone linked it; zero where that isn't known. The phone
// signs the time, and it outlives the bot's own database.
func (d device) since() time.Time {
	var id waAdv.ADVDeviceIdentity
	if d.Account == nil || proto.Unmarshal(d.Account.GetDetails(), &id) != nil || id.GetTimestamp() == 0 {
		return time.Time{}
	}
	return time.Unix(int64(id.GetTimestamp()), 0)
}

// payload names the device where it registers. The SDK has a variable of the
// whole process for that.
func (d device) payload(name string) func() *waWa6.ClientPayload {
	return func() *waWa6.ClientPayload {
		p := d.GetClientPayload()
		reg := p.GetDevicePairingData()
		var props waCompanionReg.DeviceProps
		if reg == nil || name == "" || proto.Unmarshal(reg.GetDeviceProps(), &props) != nil {
			return p
		}
		props.Os = new(name)
		props.PlatformType = waCompanionReg.DeviceProps_DESKTOP.Enum()
		if raw, err := proto.Marshal(&props); err == nil {
			reg.DeviceProps = raw
		}
		return p
	}
}
