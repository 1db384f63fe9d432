from dynaorm.handler import StreamHandler as StreamHandler
from dynaorm.handler import handler as handler
from dynaorm.streams.change import Changed as Changed
from dynaorm.streams.change import Deleted as Deleted
from dynaorm.streams.change import Inserted as Inserted
from dynaorm.streams.change import Internal as Internal
from dynaorm.streams.change import Unreadable as Unreadable
from dynaorm.streams.interpret import changes as changes
