-- +goose Up
-- A chat that is forgotten takes its turns and their calls along.
CREATE INDEX turn_lane ON turn (lane);
CREATE INDEX call_turn ON call (turn);

-- +goose Down
DROP INDEX call_turn;
DROP INDEX turn_lane;
