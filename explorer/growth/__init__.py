"""How it grows: what so many facts a day need, computed from figures that were measured."""
