from dynaorm.handler import StreamHandler as StreamHandler
from dynaorm.handler import handler as handler
from dynaorm.streams.event import Changed as Changed
from dynaorm.streams.event import Deleted as Deleted
from dynaorm.streams.event import Inserted as Inserted
from dynaorm.streams.event import Internal as Internal
from dynaorm.streams.event import Unreadable as Unreadable
from dynaorm.streams.interpret import changes as changes
